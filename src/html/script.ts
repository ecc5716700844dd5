import { drafts } from './scripts/drafts.ts'
import { files } from './scripts/files.ts'
import { inView } from './scripts/in-view.ts'
import { jump } from './scripts/jump.ts'
import { keyboard } from './scripts/keyboard.ts'
import { liveScript } from './scripts/live.ts'
import { times } from './scripts/times.ts'

/**
 * The script of all pages. Every page works without it, except that passkeys and notifications require it. These
 * attributes enable its functions, here and in `scripts/`:
 *
 * - `data-copy="id"` on a button: copies that element's text and confirms it for two seconds in the `data-label`
 *   element inside the button.
 * - `data-opens="id"` on a link to `#id`: opens that `<dialog>` as a modal. Without script, the link shows it.
 * - `data-modal` on a `<dialog open>`: makes it modal. Without script, it is part of the page.
 * - `data-closes` on a link inside a dialog: closes the dialog.
 * - `data-asks="id"` on a dialog: Escape shows that element instead of closing the dialog. In that element, a
 *   button with `data-stays` hides the element again, and one with `data-leaves` closes the dialog.
 * - `data-menu` on `<details>`: a click outside or Escape closes it.
 * - `data-wait` on a button: disables it for 500 ms after the page appears or regains focus, against clickjacking. See
 *   docs/security.md, "OAuth".
 * - `data-when-changed` on a button: hides it until a value in its form changes.
 * - `data-shows="id"` on a button: toggles the visibility of the password in that field.
 * - `data-needs-script` on any element: hidden without script (by the style sheet).
 * - `data-passkey="create"` or `"get"` on a form: before submitting, asks the browser for a passkey with the options in
 *   `data-options`, and puts the response into the field `passkey`. With `data-starts`, it does so when the page
 *   appears. Errors are shown in the element that `data-error` names.
 * - `data-ago` on a `<time>`: shows the page's age and keeps it up to date.
 * - `data-local` on a `<time>`: shows a `date`, a `day` or a time of day (`time`, or `second` to include seconds) in
 *   the reader's time zone. Today and yesterday are shown by name.
 * - `data-days-ago` on a link with `?at=`: points it to the start of the day that many days ago, in the reader's time
 *   zone.
 * - `data-to-utc` on a field for a date with a time: interprets it in the reader's time zone and sends it as
 *   milliseconds since the epoch. Without script, `data-zone` around it names UTC.
 * - `data-attaches` on a file field: see `scripts/files.ts`.
 * - `data-live`, `data-thread` and `data-fresh`: see `scripts/live.ts`.
 * - Forms are submitted once: the button is busy and looks disabled until the next page loads. It keeps the focus. With
 *   `data-downloads` on the button, the page stays open, so the button recovers after a second and shows the
 *   attribute's text next to it.
 * - A page that shows a refused form takes over the previous page's address in the browser history, so that Reload and
 *   Back open that page without asking to resubmit the form.
 */
export const script = `'use strict'
const on = (type, selector, run) => document.addEventListener(type, event => {
  const found = event.target instanceof Element && event.target.closest(selector)
  if (found) run(found, event)
})
const byId = id => document.getElementById(id)

async function copy(button) {
  const source = byId(button.dataset.copy)
  const text = 'value' in source ? source.value : source.textContent
  const label = button.querySelector('[data-label]')
  try {
    await navigator.clipboard.writeText(text)
    label.textContent = 'Copied'
    button.classList.add('done')
  } catch {
    // The clipboard API needs HTTPS. Without it, select the text so that the user can copy it.
    if ('select' in source) source.select()
    else getSelection().selectAllChildren(source)
    label.textContent = 'Press Ctrl+C'
  }
  clearTimeout(button.timer)
  button.timer = setTimeout(() => { label.textContent = 'Copy'; button.classList.remove('done') }, 2000)
}
on('click', '[data-copy]', copy)

function openModal(dialog) {
  dialog.removeAttribute('open')
  dialog.showModal()
}
on('click', '[data-opens]', (link, event) => {
  event.preventDefault()
  openModal(byId(link.dataset.opens))
})
on('click', '[data-closes]', (link, event) => {
  const dialog = link.closest('dialog')
  if (!dialog.open) return
  event.preventDefault()
  dialog.close()
})
function askFirst(dialog, event) {
  event.preventDefault()
  const question = byId(dialog.dataset.asks)
  question.hidden = false
  question.querySelector('[data-stays]').focus()
}
for (const dialog of document.querySelectorAll('dialog[data-asks]')) {
  dialog.addEventListener('cancel', event => { if (event.target === dialog) askFirst(dialog, event) })
  dialog.addEventListener('keydown', event => { if (event.key === 'Escape') askFirst(dialog, event) })
}
on('click', '[data-stays]', button => {
  const dialog = button.closest('dialog')
  byId(dialog.dataset.asks).hidden = true
  dialog.querySelector('form button').focus()
})
on('click', '[data-leaves]', button => button.closest('dialog').close())
for (const dialog of document.querySelectorAll('dialog[data-modal][open]')) openModal(dialog)
if (location.hash) {
  const target = byId(location.hash.slice(1))
  if (target instanceof HTMLDialogElement) openModal(target)
}

const openMenus = () => document.querySelectorAll('details[data-menu][open]')
document.addEventListener('click', event => {
  for (const menu of openMenus()) if (!menu.contains(event.target)) menu.open = false
})
document.addEventListener('keydown', event => {
  if (event.key !== 'Escape') return
  for (const menu of openMenus()) {
    menu.open = false
    menu.querySelector('summary').focus()
  }
})

const day = { day: 'numeric', month: 'short', year: 'numeric' }
const clock = { hour: '2-digit', minute: '2-digit' }
const localTimes = Object.fromEntries(
  Object.entries({
    date: { ...day, ...clock }, time: clock, second: { ...clock, second: '2-digit' }, day: { weekday: 'short', ...day },
  })
    .map(([part, options]) => [part, new Intl.DateTimeFormat('en-GB', options)]))
function showLocalTimes(within) {
  for (const time of within.querySelectorAll('time[data-local]')) {
    const at = new Date(time.dateTime)
    const near = time.dataset.local === 'day' && nameOfDay(at)
    time.textContent = (near ? near + ', ' : '') + localTimes[time.dataset.local].format(at)
  }
}
showLocalTimes(document)

for (const field of document.querySelectorAll('[data-to-utc]')) {
  field.form.querySelector('[data-zone]').hidden = true
  field.form.addEventListener('formdata', ({ formData }) => {
    formData.set(field.name, String(new Date(field.value).getTime()))
  })
}

function disableBriefly() {
  for (const button of document.querySelectorAll('[data-wait]')) {
    button.disabled = true
    clearTimeout(button.timer)
    button.timer = setTimeout(() => { button.disabled = false }, 500)
  }
}
disableBriefly()
addEventListener('focus', disableBriefly)
document.addEventListener('visibilitychange', () => { if (!document.hidden) disableBriefly() })

function updateSaveButtons(form) {
  for (const button of form.querySelectorAll('[data-when-changed]')) {
    button.disabled = ![...form.querySelectorAll('option')].some(option => option.selected !== option.defaultSelected)
  }
}
for (const button of document.querySelectorAll('[data-when-changed]')) updateSaveButtons(button.form)
document.addEventListener('change', event => { if (event.target.form) updateSaveButtons(event.target.form) })

on('click', '[data-shows]', button => {
  const field = byId(button.dataset.shows)
  const isShown = field.type === 'text'
  field.type = isShown ? 'password' : 'text'
  button.setAttribute('aria-pressed', String(!isShown))
})

async function askForPasskey(form) {
  const { passkey: use, options, error } = form.dataset
  const read = self.PublicKeyCredential && (use === 'create'
    ? PublicKeyCredential.parseCreationOptionsFromJSON : PublicKeyCredential.parseRequestOptionsFromJSON)
  const say = text => {
    byId(error).textContent = text
    byId(error).hidden = false
  }
  if (!read) return say('This browser does not support passkeys. Update it, or use another way.')
  byId(error).hidden = true
  try {
    const publicKey = read.call(PublicKeyCredential, JSON.parse(options))
    const answer = await navigator.credentials[use]({ publicKey })
    form.elements.passkey.value = JSON.stringify(answer)
    form.submit()
  } catch (reason) {
    say(reason.name === 'InvalidStateError' ? 'This device has a passkey of yours already.'
      : 'No passkey was used. Try again.')
  }
}
document.addEventListener('submit', event => {
  if (!event.target.dataset.passkey) return
  event.preventDefault()
  askForPasskey(event.target)
})
for (const form of document.querySelectorAll('form[data-starts]')) askForPasskey(form)

document.addEventListener('submit', event => {
  const { submitter } = event
  if (event.target.getAttribute('method') !== 'post' || event.defaultPrevented) return
  if (event.target.dataset.sent) return event.preventDefault()
  event.target.dataset.sent = 'yes'
  submitter?.setAttribute('aria-busy', 'true')
  submitter?.setAttribute('aria-disabled', 'true')
  if (submitter?.dataset.downloads) return setTimeout(downloaded, 1000, submitter)
  sessionStorage.setItem('posted', event.target.getAttribute('action'))
})
function downloaded(button) {
  canSendAgain()
  if (button.nextElementSibling) return
  const note = document.createElement('span')
  note.setAttribute('role', 'status')
  button.after(note)
  note.textContent = ' ' + button.dataset.downloads
}
const posted = sessionStorage.getItem('posted')
sessionStorage.removeItem('posted')
const [arrival] = performance.getEntriesByType('navigation')
if (posted === location.pathname && arrival.redirectCount === 0 && document.referrer) {
  history.replaceState(null, '', document.referrer)
}
function canSendAgain() {
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent
  for (const button of document.querySelectorAll('button[aria-busy]')) {
    button.removeAttribute('aria-busy')
    button.removeAttribute('aria-disabled')
  }
}
addEventListener('pageshow', canSendAgain)
` + times + drafts + files + inView + jump + keyboard + liveScript
