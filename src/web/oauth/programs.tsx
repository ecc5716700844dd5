/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { AccountGrant, ListedGrant, OwnGrant } from '../../grid/oauth/grants.ts'
import { Badge, Card, EmptyState, Time } from '../../html/bits.tsx'
import { ConfirmDelete } from '../../html/secrets.tsx'
import { type Column, Table } from '../../html/table.tsx'
import { settingsPath } from '../settings.tsx'
import type { Visit } from '../visit.ts'

/** What the person let programs do, in all their accounts. mcp.md, section 8.4. */
export function OwnPrograms({ visit, grants, now }: { visit: Visit; grants: OwnGrant[]; now: number }) {
  return (
    <Programs
      visit={visit}
      tab='sessions'
      grants={grants}
      now={now}
      lead='What you let act for you by signing in. Disconnect what you do not use.'
      whose={{ title: 'Account', cell: ({ accountName }) => accountName }}
    />
  )
}

/** What all people of the account let programs do with it; for its owners and admins. */
export function AccountPrograms({ visit, grants, now }: { visit: Visit; grants: AccountGrant[]; now: number }) {
  return (
    <Programs
      visit={visit}
      tab='account'
      grants={grants}
      now={now}
      lead='What people of this account let act for it or for its agents, by signing in.'
      whose={{ title: 'By', cell: ({ email }) => email }}
    />
  )
}

function Programs<Grant extends ListedGrant>(
  { visit, tab, grants, now, lead, whose }: {
    visit: Visit
    tab: 'sessions' | 'account'
    grants: Grant[]
    now: number
    lead: string
    /** The column in which the two lists differ. */
    whose: Column<Grant>
  },
) {
  return (
    <Card title='Programs' lead={lead} id='programs'>
      {grants.length === 0
        ? (
          <EmptyState icon='key' title='No programs'>
            MCP clients that sign in through the browser are listed here.
          </EmptyState>
        )
        : (
          <Table
            id='grants'
            caption='Programs that have access'
            rows={grants}
            columns={[
              { title: 'Program', cell: (grant) => <Program grant={grant} /> },
              { title: 'Acts as', cell: (grant) => <Entry grant={grant} /> },
              whose,
              { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
              {
                title: 'Last used',
                cell: ({ lastUsedAt }) => lastUsedAt === null ? 'never' : <Time at={lastUsedAt} now={now} />,
              },
              {
                title: 'Disconnect',
                isUntitled: true,
                align: 'end',
                cell: ({ id, clientName, entry }) => (
                  <ConfirmDelete
                    action={settingsPath(visit, tab, 'programs', id, 'end')}
                    csrf={visit.csrf}
                    id={id}
                    isSmall
                    label='Disconnect'
                    question={
                      <>
                        Disconnect <strong>{clientName}</strong>? It can no longer act as{' '}
                        {entry}, from its next call on.
                      </>
                    }
                  />
                ),
              },
            ]}
          />
        )}
    </Card>
  )
}

/** A name that the program gave itself, with what is known of it. Security O9. */
function Program({ grant: { clientName, clientDomain } }: { grant: ListedGrant }) {
  return (
    <span>
      {clientName} <span class='small soft'>{clientDomain ?? 'unverified'}</span>
    </span>
  )
}

function Entry({ grant: { entry } }: { grant: ListedGrant }) {
  return <span>{entry} {entry === '@admin' && <Badge kind='warning'>Admin</Badge>}</span>
}
