/* Browsers start no workers from disk. Pages opened from there run the search in a hidden frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.ready = new Promise((done) => {
        this.frame.addEventListener("load", done, { once: true })
      })
      // The frame has this page's origin, so both sides call each other directly.
      window.fromFrame = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      this.frame.srcdoc =
        `<script>postMessage = (data) => parent.fromFrame(data)<\/script><script src="${url}"><\/script>`
      document.body.append(this.frame)
    }

    postMessage(data) {
      this.ready.then(() => {
        const { MessageEvent } = this.frame.contentWindow
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
      })
    }

    terminate() {
      this.frame.remove()
    }
  }
}
