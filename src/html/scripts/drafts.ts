/**
 * Saves the content of a `<textarea data-draft="NAME">` in the browser under that name until the form is sent or the
 * user signs out. Tabs with the same draft stay in sync. Ctrl+Enter (on a Mac also Cmd+Enter) sends the form, but not
 * during input method composition. If the grid does not respond, the page remains open and shows an error. See
 * docs/people.md, "People who write".
 */
export const drafts = `
const draftKey = area => 'draft ' + area.dataset.draft
const draftAreas = [...document.querySelectorAll('textarea[data-draft]')]
// Browsers can be set to store nothing. Drafts are then not saved.
const withStorage = run => { try { return run(localStorage) } catch { return undefined } }

const sent = JSON.parse(sessionStorage.getItem('sending'))
sessionStorage.removeItem('sending')
// A redirect within the account means that the message was stored.
if (sent && arrival.redirectCount > 0 && location.pathname.startsWith('/accounts/')) {
  withStorage(kept => { if (kept.getItem(sent.key) === sent.text) kept.removeItem(sent.key) })
}
for (const area of draftAreas) {
  if (area.value === '') area.value = withStorage(kept => kept.getItem(draftKey(area))) ?? ''
}
on('input', 'textarea[data-draft]', area => withStorage(kept => {
  if (area.value.trim() === '') kept.removeItem(draftKey(area))
  else kept.setItem(draftKey(area), area.value)
}))
addEventListener('storage', ({ key, oldValue, newValue }) => {
  for (const area of draftAreas) {
    if (key === draftKey(area) && area.value === (oldValue ?? '')) area.value = newValue ?? ''
  }
})
// If the server is unreachable, submitting the form would replace the page with a browser error page.
async function sendIfThere(form, area) {
  const answer = await fetch('/healthz', { cache: 'no-store' }).catch(() => undefined)
  if (answer?.ok) {
    sessionStorage.setItem('sending', JSON.stringify({ key: draftKey(area), text: area.value }))
    return form.submit()
  }
  sessionStorage.removeItem('posted')
  canSendAgain()
  let note = form.querySelector('.not-sent')
  if (!note) {
    note = document.createElement('p')
    note.className = 'not-sent'
    note.setAttribute('role', 'alert')
    area.closest('.field').after(note)
  }
  note.textContent = ''
  note.textContent = 'Not sent: the grid does not answer. Your text is kept. Try again.'
}
document.addEventListener('submit', event => {
  const { target, defaultPrevented } = event
  if (defaultPrevented) return
  const area = target.querySelector('textarea[data-draft]')
  if (area) {
    event.preventDefault()
    sendIfThere(target, area)
  }
  if (target.getAttribute('action') === '/sign-out') withStorage(kept => {
    for (const key of Object.keys(kept)) if (key.startsWith('draft ')) kept.removeItem(key)
  })
})
document.addEventListener('keydown', event => {
  const { key, ctrlKey, metaKey, isComposing, keyCode, target } = event
  // During input method composition, browsers without isComposing report the key code 229.
  if (key !== 'Enter' || !(ctrlKey || metaKey) || isComposing || keyCode === 229) return
  if (!target.matches('textarea[data-draft]')) return
  event.preventDefault()
  target.form.requestSubmit(target.form.querySelector('[type=submit]'))
})
`
