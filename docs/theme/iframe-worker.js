/* Search runs in a worker, and a browser starts none from a file. There, a hidden frame does a worker's work. */
"use strict";
if (location.protocol === "file:") {
  // The theme's script looks for this name to find its own folder.
  window.IFrameWorker = class extends EventTarget {
    #waiting = [];
    #inside;

    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.#inside = frame.contentWindow;
      // An opened document stays; the empty one that a frame begins with is replaced later by some browsers.
      frame.contentDocument.open();
      frame.contentDocument.write("<body></body>");
      frame.contentDocument.close();
      this.#inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = new URL(address, document.baseURI);
      script.onload = () => {
        for (const message of this.#waiting) this.#inside.dispatchEvent(message);
        this.#waiting = null;
      };
      frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      const message = new MessageEvent("message", { data });
      if (this.#waiting) this.#waiting.push(message);
      else this.#inside.dispatchEvent(message);
    }
  };
  window.Worker = window.IFrameWorker;
}
