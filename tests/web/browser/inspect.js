// What a document has that the templates did not write, as one line each. Used on pages as they are shown and as they
// were sent; the latter run no script, so that a fault is found and not set off.
(root, origin) => {
  const tags = new Set(
    `html head body meta title link script a header nav ul ol li div span form button input label select option main
    h1 h2 h3 p section article table caption thead tbody tr th td dl dt dd code pre details summary footer img figure svg g
    rect line text meter time br strong bdi`.split(/\s+/),
  );
  const attributes = new Set(
    `href src class id name value type rel content charset lang method action role for alt width height datetime title
    scope colspan tabindex maxlength min max high low optimum required placeholder selected hidden autocomplete open
    viewBox preserveAspectRatio x y x1 y1 x2 y2 transform text-anchor data-live data-live-state data-part data-part-place data-keep
    data-theme data-theme-switch data-asked data-zoom popover popovertarget data-label checked
    data-zoom-tools data-zoom-by data-zoom-now`.split(/\s+/),
  );
  const scripts = new Set(["/static/live.js", "/static/timeline.js"]);
  const addresses = new Set(["href", "src", "action", "data-part", "data-live"]);
  const faults = [];
  for (const element of root.querySelectorAll("*")) {
    const tag = element.localName;
    const told = element.outerHTML.slice(0, 120);
    if (!tags.has(tag)) faults.push(`element ${tag}: ${told}`);
    for (const { name, value } of element.attributes) {
      if (!attributes.has(name) && !name.startsWith("aria-")) faults.push(`attribute ${name}: ${told}`);
      if (addresses.has(name)) {
        const address = new URL(value, origin);
        if (address.origin !== origin) faults.push(`address ${value}: ${told}`);
      }
    }
    if (tag === "script" && !scripts.has(element.getAttribute("src"))) faults.push(`script: ${told}`);
    if (tag === "meta" && element.hasAttribute("http-equiv")) faults.push(`meta: ${told}`);
  }
  return faults;
}
