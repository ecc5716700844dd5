/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Proof, SessionUser } from '../../auth/session.ts'
import { passkeyProofOptions, proveByPasskey } from '../../grid/people/passkeys.ts'
import { confirmByPassword, listSecondFactors, useSecondFactorCode } from '../../grid/people/second-factor.ts'
import { Notice } from '../../html/components.tsx'
import { PasswordInput, TextInput } from '../../html/fields.tsx'
import { ButtonForm, ButtonLink, Form, HiddenFields, PasskeyForm, SubmitButton } from '../../html/form.tsx'
import { barePage } from '../../html/layout.tsx'
import { formErrors } from '../forms.tsx'
import { KeptForm, letRun } from '../refused-form.tsx'
import {
  aboveForm,
  localPath,
  type PageDeps,
  type PageResult,
  type PublicPages,
  type PublicVisit,
  signedIn,
} from '../visit.ts'

export function secondFactorPath(next: string): string {
  return next === '/' ? '/second-factor' : `/second-factor?next=${encodeURIComponent(next)}`
}

/**
 * Two pages on which users prove their identity: the second step of a sign-in, and the confirmation before sensitive
 * changes. Both start a new session. See docs/people.md, "Signing in".
 */
export function proofPages({ get, post, keep }: PublicPages, { store, sessions, features }: PageDeps): void {
  const nextOf = ({ form, query }: PublicVisit) => localPath(form.get('next') ?? query.get('next'))

  /**
   * Returns the page from which the user came here. If it is unknown, or is `next` or /confirm, returns a page that
   * links to `next`.
   */
  function backOf(visit: PublicVisit): string {
    const referrer = URL.parse(visit.request.headers.get('referer') ?? '')
    const from = visit.form.get('back') ?? (referrer && referrer.pathname + referrer.search)
    const next = nextOf(visit)
    return from === null || [next, '/confirm'].includes(from.split('?')[0]) ? aboveForm(next) : localPath(from)
  }

  async function begin(visit: PublicVisit, user: SessionUser, proof: Proof) {
    const { onlyAccount = null, identity = null } = visit.visitor ?? {}
    const begun = await sessions.begin(visit.request, user.id, visit.address, { onlyAccount, identity, ...proof })
    const { kept, runsUntil = 0 } = visit
    const path = nextOf(visit)
    if (kept === undefined) return { redirectTo: path, cookie: begun }
    if (!visit.visitor || runsUntil <= store.deps.now()) return { redirectTo: path, cookie: begun, withForm: true }
    const { redirectTo, cookie } = await letRun(sessions, visit, { path, kept, begun })
    return { redirectTo, cookie: [begun, cookie], withForm: true }
  }

  /** Registers a page on which the user returned by `userOf` must prove their identity. */
  function proofPage(
    path: string,
    userOf: (visit: PublicVisit) => Promise<SessionUser | undefined>,
    texts: { title: string; lead: string },
  ): void {
    const withUser =
      (run: (visit: PublicVisit, user: SessionUser) => Promise<PageResult>) => async (visit: PublicVisit) => {
        const user = await userOf(visit)
        if (user) return await run(visit, user)
        if (!visit.visitor) return { redirectTo: '/sign-in' }
        return { redirectTo: nextOf(visit), withForm: visit.kept !== undefined }
      }
    const show = withUser(async (visit, user) => await page(visit, user))

    get(path, show)
    keep(`${path}/form`, show)
    post(
      path,
      withUser(async (visit, user) => {
        if (!user.hasSecondFactor) {
          const password = visit.form.get('password') ?? ''
          const passwordHash = await confirmByPassword(store, user, password, visit.address)
          return await begin(visit, user, { passwordHash })
        }
        await useSecondFactorCode(store, user, visit.form.get('code') ?? '', visit.address)
        return await begin(visit, user, { hasSecondFactor: true })
      }),
      show,
    )
    get(`${path}/passkey`, (visit) => ({ redirectTo: `${path}?next=${encodeURIComponent(nextOf(visit))}` }))
    post(
      `${path}/passkey`,
      withUser(async (visit, user) => {
        await proveByPasskey(store, visit.csrf, user.id, visit.form.get('passkey') ?? '')
        return await begin(visit, user, { hasSecondFactor: true })
      }),
      show,
    )

    async function page(visit: PublicVisit, user: SessionUser): Promise<Response> {
      const { csrf, kept, runsUntil } = visit
      const back = backOf(visit)
      const next = (
        <>
          <HiddenFields fields={{ next: nextOf(visit), back }} />
          <KeptForm {...{ kept, runsUntil }} />
        </>
      )
      const codeErrors = formErrors(visit, path, ['code', 'password'])
      const passkeyErrors = formErrors(visit, `${path}/passkey`, ['passkey'])
      const options = await passkeyProofOptions(store, csrf, user.id)
      const { hasTotp } = await listSecondFactors(store, user.id)
      const ways = visit.visitor
        ? features.map(({ signIn }) => signIn?.proof(store, visit, kept === undefined ? nextOf(visit) : back))
        : []
      const again = (await Promise.all(ways)).filter((way) => way !== undefined)
      const hasPassword = !user.hasSecondFactor && (await store.global.users.byId(user.id))?.passwordHash != null
      return await barePage(
        { title: texts.title, csrf },
        <>
          <h1>{texts.title}</h1>
          <p>{texts.lead}</p>
          {kept !== undefined && (
            <p class='soft'>
              {runsUntil === undefined
                ? 'What you entered is kept. You get it back in the next step.'
                : 'What you entered is kept. It is done as soon as you have confirmed.'}
            </p>
          )}
          {codeErrors.rest && <Notice kind='bad'>{codeErrors.rest}</Notice>}
          {options && (
            <PasskeyForm
              action={`${path}/passkey`}
              use='get'
              options={options}
              error={passkeyErrors.passkey ?? passkeyErrors.rest}
            >
              {next}
              <SubmitButton isWhole>Use a passkey</SubmitButton>
            </PasskeyForm>
          )}
          {user.hasSecondFactor && (
            <Form action={path}>
              {next}
              <TextInput
                name='code'
                label={hasTotp ? 'Code' : 'Recovery code'}
                hint={hasTotp
                  ? 'The six digits of your authenticator app, or one of your recovery codes.'
                  : 'If you cannot use your passkey.'}
                error={codeErrors.code}
                autocomplete='one-time-code'
                maxLength={40}
                isMono
                isRequired
                isFocused={!options}
              />
              <SubmitButton kind={options ? 'plain' : 'main-action'} isWhole>Continue</SubmitButton>
            </Form>
          )}
          {hasPassword && (
            <Form action={path}>
              {next}
              <PasswordInput
                name='password'
                label='Your password'
                error={codeErrors.password}
                autocomplete='current-password'
                isRequired
              />
              <SubmitButton isWhole>Continue</SubmitButton>
            </Form>
          )}
          {user.hasSecondFactor
            ? (
              <p class='small soft'>
                If you have lost all of them, ask an owner of your account or the operator of this grid to reset your
                second factor.
              </p>
            )
            : !hasPassword && again.length === 0 && (
              <p>You have no password. Sign out, and sign in again with an email link.</p>
            )}
          {again}
          <div class='row'>
            {visit.visitor && <ButtonLink href={back} kind='quiet' isSmall>Cancel</ButtonLink>}
            <ButtonForm action='/sign-out' kind='quiet' isSmall>Sign out</ButtonForm>
          </div>
        </>,
      )
    }
  }

  proofPage('/second-factor', ({ request }) => sessions.halfVisitor(request), {
    title: 'Second factor',
    lead: 'One more step: prove that it is you.',
  })
  proofPage('/confirm', (visit) => Promise.resolve(signedIn(visit).user), {
    title: 'Confirm that it is you',
    lead: 'This change needs a proof of who you are from the last ten minutes.',
  })
}
