/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { requestEmailLink } from '../../grid/people/email-links.ts'
import { Notice } from '../../html/components.tsx'
import { Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { formErrors } from '../forms.tsx'
import { noticeOf, withNotice } from '../notices.ts'
import type { PageDeps } from '../page-deps.ts'
import { localPath, type Pages, type PublicVisit } from '../visit.ts'
import { EmailNote, linkButton } from './email-note.tsx'
import { EmailField } from './person-fields.tsx'

interface PageTexts {
  title: string
  lead: string
}

/**
 * A page with a form that sends an email link. The response is the same for known and unknown addresses.
 * See docs/security.md, "Enumeration and timing".
 */
export function linkRequestPages(
  { get, post }: Pages<PublicVisit>,
  deps: PageDeps,
  { path, kind, texts }: { path: string; kind: 'sign_in' | 'reset'; texts: PageTexts },
): void {
  const show = (visit: PublicVisit) => linkRequestPage(visit, deps, path, texts)
  get(path, show)
  post(path, async ({ form, address }) => {
    const next = localPath(form.get('next'))
    await requestEmailLink(deps.store, kind, { email: form.get('email') ?? '', next }, address)
    const nextParameter = next === '/' ? '' : `&next=${encodeURIComponent(next)}`
    const notice = deps.store.deps.email.isConfigured ? 'link-sent' : 'link-logged'
    return { redirectTo: `${withNotice(path, notice)}${nextParameter}` }
  }, show)
}

function linkRequestPage(visit: PublicVisit, deps: PageDeps, path: string, { title, lead }: PageTexts) {
  const { csrf, form, query } = visit
  const errors = formErrors(visit, path, ['email'])
  const notice = noticeOf(query)
  const next = localPath(form.get('next') ?? query.get('next'))
  return barePage(
    { title },
    <>
      <h1>{title}</h1>
      {notice
        ? (
          <>
            <Notice kind={notice.kind} title={notice.kind === 'good' ? 'Check your email' : 'Ask the operator'}>
              {notice.text}
            </Notice>
            {/* Email links do not contain every path, for example not that of an authorization request. */}
            {next !== '/' && (
              <p>
                After you have signed in with the link in this browser, you can <a href={next}>continue here</a>.
              </p>
            )}
          </>
        )
        : (
          <>
            <p>{lead}</p>
            <EmailNote deps={deps} />
            {errors.rest && <Notice kind='bad'>{errors.rest}</Notice>}
            <Form action={path} csrf={csrf}>
              <input type='hidden' name='next' value={next} />
              <EmailField value={form.get('email') ?? ''} error={errors.email} isFocused />
              <SubmitButton isWhole>{linkButton(deps)}</SubmitButton>
            </Form>
          </>
        )}
      <p class='small'>
        <a class='alone' href='/sign-in'>Back to sign-in</a>
      </p>
    </>,
  )
}
