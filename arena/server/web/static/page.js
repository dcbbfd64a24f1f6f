"use strict";
// Everything works without this script. With it, boards and answers are live, times are also shown
// in the reader's zone, and uploads show their progress.

for (const time of document.querySelectorAll("time")) {
  const moment = new Date(time.dateTime);
  if (!Number.isNaN(moment.getTime())) {
    time.title = moment.toLocaleString(document.documentElement.lang, {dateStyle: "full", timeStyle: "long"});
  }
}

async function renew() {
  const answer = await fetch(location.href, {headers: {Accept: "text/html"}});
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const place of document.querySelectorAll("[data-live]")) {
    // What a person is about to send is not replaced.
    if (place.querySelector("form input:checked, form :focus") || place.contains(document.activeElement)) continue;
    const fresh = page.querySelector(`[data-live="${place.dataset.live}"]`);
    if (fresh) place.replaceWith(document.importNode(fresh, true));
  }
}

const live = document.querySelector("[data-live]");
if (live && window.EventSource) {
  const events = new EventSource(document.body.dataset.events);
  let first = true;
  for (const [name, part] of [["board", "board"], ["announcement", "announcements"]]) {
    events.addEventListener(name, event => {
      const place = document.querySelector(`[data-live="${part}"]`);
      if (place && place.dataset.etag !== event.data) renew();
    });
  }
  events.addEventListener("answer", () => {
    const place = document.querySelector('[data-live="answer"]');
    // The first event tells what the page knows already, unless it was waiting meanwhile.
    if (place && (!first || "waiting" in place.dataset)) renew();
    first = false;
  });
  addEventListener("pagehide", () => events.close());
}

for (const form of document.querySelectorAll("form[data-upload]")) {
  const bar = form.querySelector("progress");
  form.addEventListener("submit", event => {
    event.preventDefault();
    const request = new XMLHttpRequest();
    const target = event.submitter && event.submitter.hasAttribute("formaction") ? event.submitter.formAction : form.action;
    const state = form.querySelector("[data-upload-state]");
    const buttons = form.querySelectorAll("button");
    request.open("POST", target);
    request.setRequestHeader("Accept", "text/html");
    request.upload.addEventListener("progress", sent => {
      bar.hidden = false;
      bar.value = sent.lengthComputable ? (100 * sent.loaded) / sent.total : 0;
    });
    request.addEventListener("load", () => {
      const page = new DOMParser().parseFromString(request.responseText, "text/html");
      const main = page.querySelector("main");
      if (!main) {
        state.textContent = request.statusText;
      } else if (request.responseURL !== target) {
        location.assign(request.responseURL);
        return;
      } else {
        document.querySelector("main").replaceWith(document.importNode(main, true));
        document.querySelector("main").focus();
      }
      for (const button of buttons) button.disabled = false;
    });
    request.addEventListener("error", () => {
      // Without the script the browser shows its own page about the broken connection.
      state.textContent = state.dataset.broken;
      for (const button of buttons) button.disabled = false;
    });
    request.send(new FormData(form));
    for (const button of buttons) button.disabled = true;
  });
}
