/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { signIn } from '../../grid/people/people.ts'
import { Notice } from '../../html/bits.tsx'
import { Form, PasswordInput, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { EmailField } from './person-fields.tsx'
import { type OpenVisit, ownPath, type Pages } from '../visit.ts'
import type { Web } from '../web.ts'

/** Signing in with a password, and out. */
export function signInPages({ get, post }: Pages<OpenVisit>, { store, sessions }: Web): void {
  get('/sign-in', show)
  post('/sign-in', async ({ request, form, address }) => {
    const input = { email: form.get('email') ?? '', password: form.get('password') ?? '' }
    const { userId, passwordHash } = await signIn(store, input, address)
    return { goTo: ownPath(form.get('next')), cookie: await sessions.begin(request, userId, address, passwordHash) }
  }, show)
  post('/sign-out', async ({ request }) => ({ goTo: '/', cookie: await sessions.end(request) }))
}

function show({ visitor, csrf, query, form, fault }: OpenVisit) {
  const next = ownPath(form.get('next') ?? query.get('next'))
  if (visitor && !fault) return { goTo: next }
  const onward = next === '/' ? '' : `?next=${encodeURIComponent(next)}`
  return barePage(
    { title: 'Sign in' },
    <>
      <h1>Sign in</h1>
      {fault && <Notice kind='bad'>{fault.message}</Notice>}
      <Form action='/sign-in' csrf={csrf}>
        <input type='hidden' name='next' value={next} />
        <EmailField value={form.get('email') ?? ''} isFocused />
        <PasswordInput name='password' label='Password' autocomplete='current-password' isRequired />
        <SubmitButton isWhole>Sign in</SubmitButton>
      </Form>
      <p class='small'>
        <a href={`/sign-in-link${onward}`}>Mail me a link instead</a> · <a href='/reset'>Forgot your password?</a>
      </p>
    </>,
  )
}
