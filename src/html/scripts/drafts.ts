/**
 * Saves the content of a `<textarea data-draft="NAME">` in the browser under that name until it is sent or its user
 * signs out. Tabs with the same draft stay in sync. Ctrl+Enter (on a Mac also Cmd+Enter) sends the form, but not during
 * input method composition. If the grid does not respond, the page stays as it is and shows an error. See
 * docs/people.md, "People who write".
 */
export const drafts = `
const draftKey = area => 'draft ' + area.dataset.draft
const draftAreas = [...document.querySelectorAll('textarea[data-draft]')]
// Browsers may be set to keep nothing. Then there are no drafts.
const withStorage = run => { try { return run(localStorage) } catch { return undefined } }

const sent = JSON.parse(sessionStorage.getItem('sending'))
sessionStorage.removeItem('sending')
// The answer to a message that was stored is a redirect within the account.
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
// A form that is submitted while the server is away would be replaced by an error page of the browser.
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
  // While an input method composes, the key code is 229 in browsers that do not say so otherwise.
  if (key !== 'Enter' || !(ctrlKey || metaKey) || isComposing || keyCode === 229) return
  if (!target.matches('textarea[data-draft]')) return
  event.preventDefault()
  target.form.requestSubmit(target.form.querySelector('[type=submit]'))
})
`
