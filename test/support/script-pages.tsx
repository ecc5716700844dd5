/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Pages with all elements that the script enhances. Their server stores posted forms. */
import { Hono } from 'hono'
import { Card, LocalTime } from '../../src/html/components.tsx'
import { PasswordInput, Select, TextInput } from '../../src/html/fields.tsx'
import { Form, SubmitButton } from '../../src/html/form.tsx'
import type { AppFrame } from '../../src/html/frame.tsx'
import { appPage, barePage } from '../../src/html/layout.tsx'
import { sectionsWith } from '../../src/html/paths.ts'
import { ConfirmDelete, SecretDialog } from '../../src/html/secrets.tsx'
import { freePort } from '../../src/lib/free-port.ts'
import { ResponseHeaders } from '../../src/lib/http/response-headers.ts'
import { listen } from '../../src/listen.ts'
import { assets } from '../../src/web/assets.ts'

const csrf = 'token-of-the-session'
const frame: AppFrame = {
  account: { id: 'a1', name: 'Acme Robotics', role: 'owner' },
  accounts: [
    { id: 'a1', name: 'Acme Robotics', role: 'owner' },
    { id: 'a2', name: 'Ann at home', role: 'admin' },
    { id: 'a3', name: 'The Very Long Name of an International Consortium', role: 'viewer' },
  ],
  user: { name: 'Ann Example', email: 'ann@acme.example', shortcuts: true },
  csrf,
  sections: sectionsWith([]),
  current: 'home',
}

const pages: Record<string, () => Promise<Response>> = {
  '/agent': () =>
    appPage(
      frame,
      { title: '@bob', lead: <LocalTime at={Date.parse('2026-11-21T15:24:00Z')} /> },
      <Card title='Role'>
        <Form action='/agent/role' isLine>
          <Select
            name='role'
            label='Role'
            value='member'
            options={['member', 'viewer'].map((role) => ({ value: role, title: role }))}
          />
          <SubmitButton kind='plain' whenChanged>Save role</SubmitButton>
        </Form>
        <ConfirmDelete action='/agent/delete' question='Sure?' />
      </Card>,
    ),
  '/secret': () =>
    appPage(frame, { title: 'Settings' }, <SecretDialog title='Admin key' label='Admin key' secret='agadm_7Qm3vB2x' />),
  '/sign-in': () =>
    barePage(
      { title: 'Sign in', csrf },
      <>
        <h1>Sign in</h1>
        <Form action='/sign-in'>
          <TextInput name='email' label='Email' value='ann@acme.example' />
          <PasswordInput name='password' label='Password' autocomplete='current-password' isRequired />
          <SubmitButton name='decision' value='allow' waits>Sign in</SubmitButton>
        </Form>
      </>,
    ),
}

interface SubmittedForm {
  path: string
  origin: string | null
  fields: Record<string, string>
}

/** Starts the server. `posted` contains the submitted forms. */
export async function serveScriptPages() {
  const posted: SubmittedForm[] = []
  const app = new Hono()
  const responseHeaders = new ResponseHeaders(false)
  for (const { path, answer } of assets) app.get(path, (c) => answer(c.req.raw))
  for (const [path, page] of Object.entries(pages)) {
    app.get(path, async () => responseHeaders.finish(await page(), 'test'))
  }
  app.post('*', async (c) => {
    const fields = await c.req.parseBody() as Record<string, string>
    posted.push({ path: c.req.path, origin: c.req.header('origin') ?? null, fields })
    return c.redirect('/agent?posted', 303)
  })
  const port = await freePort()
  const server = await listen((request) => app.fetch(request), { port, host: '127.0.0.1' })
  return { url: `http://127.0.0.1:${port}`, posted, close: () => server.stop(1_000) }
}
