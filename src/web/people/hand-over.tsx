/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { requireConfirmed, requirePermission } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { transferOwnership } from '../../grid/people/team.ts'
import { isolated, Name } from '../../html/bidi.tsx'
import { Card, Notice } from '../../html/components.tsx'
import { Select, TextInput } from '../../html/fields.tsx'
import { SubmitRow } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { PageForm } from '../forms.tsx'
import { settingsPath } from '../settings.tsx'
import type { Pages, Visit } from '../visit.ts'

/** Transfers the account's ownership. This has a separate page, because the caller cannot undo it. */
export function handOverPages({ get, post }: Pages<Visit>): void {
  get('/settings/team/hand-over', show)
  post('/settings/team/hand-over', async (visit) => {
    const userId = visit.form.get('member') ?? ''
    await visit.record('hand_over_account', { userId }, async (account) => {
      if (visit.may('own')) checkDeliberate(visit, userId)
      return await transferOwnership(account, userId)
    })
    return visit.done('handed-over', 'settings', 'team')
  }, show)
}

/** Requires that a member is chosen and the account's name is typed. Fails with `invalid_input`. */
function checkDeliberate({ form, membership }: Visit, userId: string): void {
  if (userId === '') throw new GridError('invalid_input', 'Choose the member.', { field: 'member' })
  if ((form.get('confirmation') ?? '').trim() === membership.name.trim()) return
  throw new GridError('invalid_input', `Type ${membership.name}, exactly as it is written here.`, {
    field: 'confirmation',
  })
}

async function show(visit: Visit) {
  const { account, actor, membership } = visit
  requirePermission(actor, 'own')
  // Check this before the user fills in the form, not after.
  requireConfirmed(actor, account.deps.now())
  const members = await account.read.team.members()
  const others = members.filter(({ userId, role }) => userId !== actor.userId && role !== 'owner')
  const team = settingsPath(visit, 'team')
  const action = settingsPath(visit, 'team', 'hand-over')
  return await appPage(
    visit.frame('settings'),
    {
      title: 'Transfer ownership',
      lead: (
        <>
          The member becomes an owner of <Name text={membership.name} />, and you become an admin.
        </>
      ),
      back: { title: 'Team', href: team },
    },
    <Card>
      {others.length === 0
        ? <p>There is no member to transfer it to: you are alone, or all others are owners.</p>
        : (
          <PageForm visit={visit} acts action={action} fields={['member', 'confirmation']}>
            <Notice kind='warning'>Only an owner can make you an owner again.</Notice>
            <Select
              name='member'
              label='New owner'
              isRequired
              options={[
                { value: '', title: 'Choose a member' },
                ...others.map(({ userId, name, email }) => ({
                  value: userId,
                  title: name ? `${isolated(name)} (${email})` : email,
                })),
              ]}
            />
            <TextInput
              name='confirmation'
              label={`Type ${membership.name} to confirm`}
              isRequired
            />
            <SubmitRow kind='danger' cancel={team}>Transfer ownership</SubmitRow>
          </PageForm>
        )}
    </Card>,
  )
}
