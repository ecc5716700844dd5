/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { signIn } from '../grid/people.ts'
import { page } from '../html/layout.tsx'
import { type OpenVisit, ownPath, type Pages } from './visit.ts'
import type { Web } from './web.ts'

/** Signing in and out. */
export function signInPages({ get, post }: Pages<OpenVisit>, { store, sessions }: Web): void {
  get('/sign-in', show)
  post('/sign-in', async ({ request, form, address }) => {
    const userId = await signIn(store, { email: form.get('email') ?? '', password: form.get('password') ?? '' })
    return { goTo: ownPath(form.get('next')), cookie: await sessions.begin(request, userId, address) }
  }, show)
  post('/sign-out', async ({ request }) => ({ goTo: '/', cookie: await sessions.end(request) }))
}

function show({ visitor, csrf, query, form, fault }: OpenVisit) {
  const next = ownPath(form.get('next') ?? query.get('next'))
  if (visitor) return { goTo: next }
  return page(
    'Sign in',
    <>
      <h1>Sign in</h1>
      {fault && <p role='alert'>{fault.message}</p>}
      <form method='post' action='/sign-in'>
        <input type='hidden' name='csrf' value={csrf} />
        <input type='hidden' name='next' value={next} />
        <label>
          E-mail
          <input name='email' type='email' autocomplete='username' required value={form.get('email') ?? ''} />
        </label>
        <label>
          Password
          <input name='password' type='password' autocomplete='current-password' required />
        </label>
        <button type='submit'>Sign in</button>
      </form>
    </>,
  )
}
