/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { passkeySignInOptions, signInByPasskey } from '../../grid/people/passkeys.ts'
import { PasskeyForm, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { formErrors } from '../forms.tsx'
import { KeptForm } from '../kept-form.tsx'
import type { PageDeps } from '../page-deps.ts'
import { localPath, type Pages, type PublicVisit } from '../visit.ts'

/** Signing in with a passkey, which is both factors at once. See docs/security.md, "Passkeys". */
export function passkeySignInPages({ get, post }: Pages<PublicVisit>, { store, sessions }: PageDeps): void {
  // A form leads here, because each page has a challenge of its own in the database.
  const show = async (visit: PublicVisit) => {
    const { csrf, form, address, kept } = visit
    const errors = formErrors(visit, '/passkey/sign-in', ['passkey'])
    const error = errors.passkey ?? errors.rest
    const options = await passkeySignInOptions(store, csrf, address)
    return await barePage(
      { title: 'Sign in with a passkey' },
      <>
        <h1>Sign in with a passkey</h1>
        <p>Your browser asks for the passkey. Unlock it as you unlock your device.</p>
        <PasskeyForm action='/passkey/sign-in' csrf={csrf} use='get' options={options} isStarted={!error} error={error}>
          <input type='hidden' name='next' value={localPath(form.get('next'))} />
          <KeptForm kept={kept} />
          <SubmitButton isWhole>Use a passkey</SubmitButton>
        </PasskeyForm>
        <p class='small'>
          <a href='/sign-in'>Sign in another way</a>
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
