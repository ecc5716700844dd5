/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../errors.ts'
import { isSetUpOpen, setUp } from '../grid/people.ts'
import { page } from '../html/layout.tsx'
import type { OpenVisit, Pages } from './visit.ts'
import type { Web } from './web.ts'

/** The first start: who holds the printed link makes the first account. */
export function setUpPages({ get, post }: Pages<OpenVisit>, { store, sessions }: Web): void {
  get('/set-up/:token', async (visit) => {
    if (await isSetUpOpen(store, visit.param('token'))) return await show(visit)
    throw new GridError(
      'link_expired',
      'This link was used already or has expired. A restart of the grid prints a new one.',
    )
  })
  post('/set-up/:token', async ({ request, form, address, param }) => {
    const field = (name: string) => form.get(name) ?? ''
    const input = {
      accountName: field('accountName'),
      name: field('name'),
      email: field('email'),
      password: field('password'),
    }
    const { userId, id } = await setUp(store, param('token'), input)
    return { goTo: `/accounts/${id}`, cookie: await sessions.begin(request, userId, address) }
  }, show)
}

function show({ csrf, form, fault, param }: OpenVisit) {
  return page(
    'Set up the grid',
    <>
      <h1>Set up the grid</h1>
      {fault && <p role='alert'>{fault.message}</p>}
      <form method='post' action={`/set-up/${encodeURIComponent(param('token'))}`}>
        <input type='hidden' name='csrf' value={csrf} />
        <label>
          Name of the account
          <input name='accountName' required maxlength={80} value={form.get('accountName') ?? ''} />
        </label>
        <label>
          Your name
          <input name='name' autocomplete='name' required maxlength={80} value={form.get('name') ?? ''} />
        </label>
        <label>
          E-mail
          <input name='email' type='email' autocomplete='username' required value={form.get('email') ?? ''} />
        </label>
        <label>
          Password
          <input name='password' type='password' autocomplete='new-password' required minlength={10} />
        </label>
        <button type='submit'>Make the account</button>
      </form>
    </>,
  )
}
