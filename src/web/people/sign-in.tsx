/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { hasPasskeys, passkeySignInOptions, signInByPasskey } from '../../grid/people/passkeys.ts'
import { signIn } from '../../grid/people/people.ts'
import { Notice } from '../../html/components.tsx'
import { PasswordInput } from '../../html/fields.tsx'
import { Form, PasskeyForm, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { formErrors } from '../forms.tsx'
import { KeptForm } from '../refused-form.tsx'
import { localPath, type PageDeps, type Pages, type PublicPages, type PublicVisit } from '../visit.ts'
import { EmailField } from './person-fields.tsx'
import { secondFactorPath } from './proof.tsx'

export function signInPages(pages: PublicPages, deps: PageDeps): void {
  const { get, post, keep } = pages
  const { store, sessions } = deps
  passkeyPages(pages, deps)
  const show = async (visit: PublicVisit) => {
    const next = localPath(visit.form.get('next') ?? visit.query.get('next'))
    if (visit.visitor && !visit.inputError) return { redirectTo: next }
    if (!visit.inputError && await sessions.halfVisitor(visit.request)) return { redirectTo: secondFactorPath(next) }
    return await signInPage(visit, next, deps)
  }
  get('/sign-in', show)
  keep('/sign-in/form', async (visit) => {
    const next = localPath(visit.query.get('next'))
    if (visit.visitor) return { redirectTo: next, withForm: true }
    if (await sessions.halfVisitor(visit.request)) {
      return { redirectTo: `/second-factor/form?next=${encodeURIComponent(next)}`, withForm: true }
    }
    return await signInPage(visit, next, deps)
  })
  post('/sign-in', async ({ request, form, address, kept }) => {
    const input = { email: form.get('email') ?? '', password: form.get('password') ?? '' }
    const { userId, passwordHash } = await signIn(store, input, address)
    return {
      redirectTo: localPath(form.get('next')),
      cookie: await sessions.begin(request, userId, address, { passwordHash }),
      withForm: kept !== undefined,
    }
  }, show)
  post('/sign-out', async ({ request }) => {
    // Signing out also removes the user's data in the browser, such as drafts. Without HTTPS, the script removes it.
    const headers = { 'Location': '/', 'Set-Cookie': await sessions.end(request), 'Clear-Site-Data': '"storage"' }
    return new Response(null, { status: 303, headers })
  })
}

async function signInPage({ csrf, form, inputError, kept }: PublicVisit, next: string, { store, features }: PageDeps) {
  const nextParameter = next === '/' ? '' : `?next=${encodeURIComponent(next)}`
  const choices = await Promise.all(features.map(({ signIn }) => signIn?.choices(store, next)))
  return await barePage(
    { title: 'Sign in', csrf, status: kept === undefined ? 200 : 401 },
    <>
      <h1>Sign in</h1>
      {inputError
        ? <Notice kind='bad'>{inputError.message}</Notice>
        : kept !== undefined && (
          <Notice kind='warning' title='Your session has ended'>
            What you entered is kept. Sign in here, and you get it back.
          </Notice>
        )}
      <Form action='/sign-in'>
        <input type='hidden' name='next' value={next} />
        <KeptForm kept={kept} />
        <EmailField value={form.get('email') ?? ''} isFocused />
        <PasswordInput name='password' label='Password' autocomplete='current-password' isRequired />
        <SubmitButton isWhole>Sign in</SubmitButton>
      </Form>
      {hasPasskeys(store) && (
        <div data-needs-script>
          <Form action='/passkey'>
            <input type='hidden' name='next' value={next} />
            <KeptForm kept={kept} />
            <SubmitButton kind='plain' isWhole>Sign in with a passkey</SubmitButton>
          </Form>
        </div>
      )}
      {choices}
      <p class='small'>
        <a href={`/sign-in-link${nextParameter}`}>Email me a link instead</a> ·{' '}
        <a href='/reset'>Forgot your password?</a>
      </p>
    </>,
  )
}

/** Signs a user in with a passkey, which counts as both factors. See docs/people.md, "Signing in". */
function passkeyPages({ get, post }: Pages<PublicVisit>, { store, sessions }: PageDeps): void {
  // A form instead of a link opens this page, because each view stores a challenge in the database.
  const show = async (visit: PublicVisit) => {
    const { csrf, form, address, kept } = visit
    const errors = formErrors(visit, '/passkey/sign-in', ['passkey'])
    const error = errors.passkey ?? errors.rest
    const options = await passkeySignInOptions(store, csrf, address)
    return await barePage(
      { title: 'Sign in with a passkey', csrf },
      <>
        <h1>Sign in with a passkey</h1>
        <p>Your browser asks for the passkey. Unlock it as you unlock your device.</p>
        <PasskeyForm action='/passkey/sign-in' use='get' options={options} isStarted={!error} error={error}>
          <input type='hidden' name='next' value={localPath(form.get('next'))} />
          <KeptForm kept={kept} />
          <SubmitButton isWhole>Use a passkey</SubmitButton>
        </PasskeyForm>
        <p class='small'>
          <a class='alone' href='/sign-in'>Sign in another way</a>
        </p>
      </>,
    )
  }
  const toSignIn = () => ({ redirectTo: '/sign-in' })

  get('/passkey', toSignIn)
  post('/passkey', show)
  get('/passkey/sign-in', toSignIn)
  post('/passkey/sign-in', async ({ request, form, csrf, address, kept }) => {
    const userId = await signInByPasskey(store, csrf, form.get('passkey') ?? '')
    return {
      redirectTo: localPath(form.get('next')),
      cookie: await sessions.begin(request, userId, address, { hasSecondFactor: true }),
      withForm: kept !== undefined,
    }
  }, show)
}
