/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { openClaim } from '../../grid/accounts/claim.ts'
import { mailClaim, openProof, useProof } from '../../grid/accounts/claim-link.ts'
import { Notice } from '../../html/bits.tsx'
import { Form, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { formFault } from '../faults.ts'
import { NameField, NewPasswordField } from '../people/person-fields.tsx'
import type { OpenVisit, Pages } from '../visit.ts'
import type { Web } from '../web.ts'

/** Proving the mailbox that a claim names: a mailed link, which also makes the person when there is none yet. */
export function claimProofPages({ get, post }: Pages<OpenVisit>, { store, sessions }: Web): void {
  const { config, mail } = store.deps

  post('/claim/:token/proof', async ({ param, address }) => {
    const { ownerEmail } = await openClaim(store, param('token'))
    await mailClaim(store, param('token'), address)
    return sent(ownerEmail, mail.isConfigured)
  })
  get('/claim/:token/:proof', show)
  // A scanner of mails opens links; it does not press buttons (security O15).
  post('/claim/:token/:proof', async ({ request, address, form, param }) => {
    const input = { name: form.get('name') ?? '', password: form.get('password') ?? '' }
    const userId = await useProof(store, param('proof'), input)
    return {
      goTo: `/claim/${encodeURIComponent(param('token'))}`,
      cookie: await sessions.begin(request, userId, address),
    }
  }, show)

  async function show(visit: OpenVisit): Promise<Response> {
    const { csrf, form, param } = visit
    const { email, isKnown } = await openProof(store, param('proof'))
    const action = `/claim/${encodeURIComponent(param('token'))}/${encodeURIComponent(param('proof'))}`
    const fault = formFault(visit, action, ['name', 'password'])
    return await barePage(
      { title: 'Your mailbox' },
      <>
        <h1>This mailbox is yours</h1>
        <p class='soft'>
          {isKnown ? <>Go on as</> : <>You are new on {new URL(config.appUrl).host}. You sign in with</>}{' '}
          <strong>{email}</strong>.
        </p>
        {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
        <Form action={action} csrf={csrf}>
          {!isKnown && (
            <>
              <NameField value={form.get('name') ?? ''} error={fault.name} />
              <NewPasswordField error={fault.password} isOptional />
            </>
          )}
          <SubmitButton isWhole>Continue</SubmitButton>
        </Form>
      </>,
    )
  }
}

function sent(email: string, isMailed: boolean) {
  return barePage(
    { title: 'Look into your mailbox' },
    <>
      <h1>{isMailed ? 'Look into your mailbox' : 'Ask whoever runs this grid'}</h1>
      <p>
        {isMailed
          ? (
            <>
              A link is on its way to <strong>{email}</strong>, unless one was sent in the last minutes.
            </>
          )
          : (
            <>
              This grid sends no mail. The link for <strong>{email}</strong> stands in the server’s log.
            </>
          )} It works for 24 hours, once.
      </p>
    </>,
  )
}
