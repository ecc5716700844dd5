/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { askForLink } from '../../grid/people/email-links.ts'
import { Notice } from '../../html/bits.tsx'
import { Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { formFault } from '../faults.ts'
import { MailNote } from './email-note.tsx'
import { noticeOf, saying } from '../notices.ts'
import { EmailField } from './person-fields.tsx'
import { type OpenVisit, ownPath, type Pages } from '../visit.ts'
import type { Web } from '../web.ts'

interface Words {
  title: string
  lead: string
  button: string
}

/** A page that mails a link to whoever gives an address. The answer is the same for every address (security E1). */
export function askPages(
  { get, post }: Pages<OpenVisit>,
  web: Web,
  { path, kind, words }: { path: string; kind: 'sign_in' | 'reset'; words: Words },
): void {
  const show = (visit: OpenVisit) => ask(visit, web, path, words)
  get(path, show)
  post(path, async ({ form, address }) => {
    const next = ownPath(form.get('next'))
    await askForLink(web.store, kind, { email: form.get('email') ?? '', next }, address)
    const onward = next === '/' ? '' : `&next=${encodeURIComponent(next)}`
    return { goTo: `${saying(path, 'link-sent')}${onward}` }
  }, show)
}

function ask(visit: OpenVisit, web: Web, path: string, { title, lead, button }: Words) {
  const { csrf, form, query } = visit
  const fault = formFault(visit, path, ['email'])
  const said = noticeOf(query)
  const next = ownPath(form.get('next') ?? query.get('next'))
  return barePage(
    { title },
    <>
      <h1>{title}</h1>
      {said
        ? (
          <>
            <Notice kind='good' title='Look into your mailbox'>{said.text}</Notice>
            <MailNote web={web} />
            {/* A mail does not carry every path, such as a program's request to be let in. */}
            {next !== '/' && (
              <p>
                Signed in by the link, in this browser, you can <a href={next}>go on here</a>.
              </p>
            )}
          </>
        )
        : (
          <>
            <p>{lead}</p>
            {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
            <Form action={path} csrf={csrf}>
              <input type='hidden' name='next' value={next} />
              <EmailField value={form.get('email') ?? ''} error={fault.email} isFocused />
              <SubmitButton isWhole>{button}</SubmitButton>
            </Form>
          </>
        )}
      <p class='small'>
        <a href='/sign-in'>Back to signing in</a>
      </p>
    </>,
  )
}
