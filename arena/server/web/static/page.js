"use strict";
// Everything works without this script. With it, boards and answers are live, times are also shown
// in the reader's zone, and uploads show their progress.

const language = document.documentElement.lang;

function showLocalTimes(root) {
  for (const time of root.querySelectorAll("time")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime()) || time.title) continue;
    const absolute = moment.toLocaleString(language, {
      year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
    });
    // On the board readers compare times; elsewhere they note them.
    const isOnBoard = time.closest(".board td");
    time.title = `${time.textContent} · ${isOnBoard ? absolute : fromNow(moment)}`;
    time.textContent = isOnBoard ? fromNow(moment) : absolute;
  }
}

function fromNow(moment) {
  const seconds = (moment - Date.now()) / 1000;
  const [unit, length] = [["day", 86400], ["hour", 3600], ["minute", 60]].find(
    ([, length]) => Math.abs(seconds) >= length) || ["minute", 60];
  return new Intl.RelativeTimeFormat(language, {numeric: "auto"}).format(Math.trunc(seconds / length), unit);
}
showLocalTimes(document);

// On a narrow screen the pages are one row, which is moved sideways.
for (const current of document.querySelectorAll("header nav [aria-current]")) {
  const row = current.closest("ul");
  row.scrollLeft = current.offsetLeft - (row.clientWidth - current.offsetWidth) / 2 - row.offsetLeft;
}

// The last day is counted in hours, minutes and seconds.
function countDown() {
  for (const place of document.querySelectorAll("[data-countdown]")) {
    const time = place.parentElement.querySelector("time");
    const seconds = Math.floor((new Date(time.dateTime) - Date.now()) / 1000);
    if (seconds < 0) place.hidden = true;
    if (seconds < 0 || seconds > 86400) continue;
    const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
    place.textContent = `(${parts.map(part => String(part).padStart(2, "0")).join(":")})`;
  }
}
if (document.querySelector("[data-countdown]")) {
  countDown();
  setInterval(countDown, 1000);
}

async function renew() {
  const answer = await fetch(location.href, {headers: {Accept: "text/html"}});
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const place of document.querySelectorAll("[data-live]")) {
    // What a person is about to send is not replaced.
    if (place.querySelector("form input:checked, form :focus") || place.contains(document.activeElement)) continue;
    const fresh = page.querySelector(`[data-live="${place.dataset.live}"]`);
    if (!fresh) continue;
    const added = document.importNode(fresh, true);
    place.replaceWith(added);
    showLocalTimes(added);
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

function follow(form) {
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
        // A file that was only checked stays chosen, to be corrected or submitted.
        const fresh = document.importNode(main, true);
        for (const name of ["file", "description"]) {
          const place = fresh.querySelector(`form[data-upload] [name="${name}"]`);
          if (place) place.replaceWith(form.querySelector(`[name="${name}"]`));
        }
        document.querySelector("main").replaceWith(fresh);
        fresh.focus();
        showLocalTimes(fresh);
        fresh.querySelectorAll("form[data-upload]").forEach(follow);
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
document.querySelectorAll("form[data-upload]").forEach(follow);
