/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** The providers that the user signs in with. See docs/people.md, "Single sign-on". */
import { gridProviderId, gridProviderName, providerOfAccount, unlinkIdentity } from './sign-in.ts'
import { Card, EmptyState, Time } from '../../html/components.tsx'
import { ButtonForm } from '../../html/form.tsx'
import { Table } from '../../html/table.tsx'
import { notices } from './words.ts'
import { settingsPath } from '../../web/settings.tsx'
import type { PageDeps, PageResult, Pages, Visit } from '../../web/visit.ts'

/** The card's forms. `show` renders the page that contains it. */
export function identityActions(
  { post }: Pages<Visit>,
  { store }: PageDeps,
  show: (visit: Visit) => Promise<PageResult>,
): void {
  post('/settings/security/unlink', async (visit) => {
    const [issuer, subject] = [visit.form.get('issuer') ?? '', visit.form.get('subject') ?? '']
    await unlinkIdentity(store, visit.visitor, { issuer, subject })
    return visit.done(notices.unlinked, 'settings', 'security')
  }, show)
}

/** Undefined if there is no provider at all. */
export async function identitiesCard(visit: Visit, { store }: PageDeps) {
  const grid = gridProviderName(store)
  const known = await store.global.identities.ofUser(visit.actor.userId)
  const providers = [
    ...(grid === undefined ? [] : [{ id: gridProviderId, name: grid }]),
    ...[await providerOfAccount(store, visit.membership.id)].filter((provider) => provider !== undefined),
  ]
  if (known.length + providers.length === 0) return undefined
  return (
    <Card title='Single sign-on' lead='Providers with which you can sign in. Only you can link one to your user.'>
      {known.length === 0
        ? <EmptyState icon='key' title='Nothing is linked'>You sign in on this grid.</EmptyState>
        : (
          <Table
            id='identities'
            caption='Linked sign-ins'
            rows={known}
            columns={[
              { title: 'Provider', cell: ({ issuer }) => <bdi>{issuer}</bdi> },
              { title: 'Linked', cell: ({ createdAt }) => <Time at={createdAt} now={store.deps.now()} /> },
              {
                title: 'Unlink',
                isUntitled: true,
                cell: ({ issuer, subject }) => (
                  <ButtonForm
                    action={settingsPath(visit, 'security', 'unlink')}
                    fields={{ issuer, subject }}
                    kind='quiet'
                    isSmall
                  >
                    Unlink
                  </ButtonForm>
                ),
              },
            ]}
          />
        )}
      {providers.map(({ id, name }) => (
        <ButtonForm
          action={`/sso/${id}/link`}
          fields={{ next: settingsPath(visit, 'security') }}
          kind='plain'
        >
          Link {name}
        </ButtonForm>
      ))}
    </Card>
  )
}
