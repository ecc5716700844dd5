/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { findClaimEmailLink, openClaim, redeemClaimEmailLink, sendClaimEmail } from '../../grid/accounts/claim.ts'
import { SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { PageForm } from '../forms.tsx'
import type { PageDeps, PageResult, Pages, PublicVisit } from '../visit.ts'
import { pathAfterLink } from '../people/email-links.tsx'
import { NameField, NewPasswordField } from '../people/person-fields.tsx'

/** Pages for the email link that verifies a claim's address. The link also creates the user if necessary. */
export function claimLinkPages({ get, post }: Pages<PublicVisit>, { store, sessions, features }: PageDeps): void {
  const { config, email: mailer } = store.deps

  post('/claim/:token/proof', async ({ param, address }) => {
    const { ownerEmail } = await openClaim(store, param('token'))
    await sendClaimEmail(store, param('token'), address)
    return sentPage(ownerEmail, mailer.isConfigured)
  })
  get('/claim/:token/:proof', show)
  // Only a form redeems the link, because email scanners submit no forms. See docs/people.md, "Signing in".
  post('/claim/:token/:proof', async ({ request, requestId, address, form, param, visitor }) => {
    const input = { name: form.get('name') ?? '', password: form.get('password') ?? '' }
    const { userId, isUnlinked } = await redeemClaimEmailLink(store, param('proof'), input, requestId, visitor)
    return {
      redirectTo: pathAfterLink(features, `/claim/${encodeURIComponent(param('token'))}`, isUnlinked),
      cookie: await sessions.begin(request, userId, address),
    }
  }, show)

  async function show(visit: PublicVisit): Promise<PageResult> {
    const { param, visitor, inputError } = visit
    // Fails if the agents are already claimed, so that the visitor is informed.
    await openClaim(store, param('token'))
    const link = await findClaimEmailLink(store, param('proof')).catch((error) => {
      // The link was already used. A signed-in user needs the claim page, not a new link.
      if (error instanceof GridError && error.code === 'link_expired' && visitor && !inputError) return undefined
      throw error
    })
    if (!link) return { redirectTo: `/claim/${encodeURIComponent(param('token'))}` }
    const { email, isKnown } = link
    const action = `/claim/${encodeURIComponent(param('token'))}/${encodeURIComponent(param('proof'))}`
    return await barePage(
      { title: 'Verify your email address', csrf: visit.csrf },
      <>
        <h1>Verify your email address</h1>
        <p class='soft'>
          {isKnown ? <>Continue as</> : <>You are new on {new URL(config.appUrl).host}. You will sign in with</>}{' '}
          <strong>{email}</strong>.
        </p>
        <PageForm visit={visit} acts action={action} fields={['name', 'password']}>
          {!isKnown && (
            <>
              <NameField />
              <NewPasswordField isOptional />
            </>
          )}
          <SubmitButton isWhole>Continue</SubmitButton>
        </PageForm>
      </>,
    )
  }
}

function sentPage(email: string, hasMailServer: boolean) {
  return barePage(
    { title: hasMailServer ? 'Check your email' : 'Ask the operator' },
    <>
      <h1>{hasMailServer ? 'Check your email' : 'Ask the operator of this grid'}</h1>
      <p>
        {hasMailServer
          ? (
            <>
              A link is on its way to <strong>{email}</strong>, unless we sent one a few minutes ago.
            </>
          )
          : (
            <>
              This grid does not send email. The link for <strong>{email}</strong> is in the server’s log.
            </>
          )} The link works once, for 24 hours.
      </p>
    </>,
  )
}
