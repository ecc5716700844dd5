/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { AccountGrant, ListedGrant, OwnGrant } from '../../grid/oauth/grants.ts'
import { Name } from '../../html/bidi.tsx'
import { Badge, Card, EmptyState, Time } from '../../html/components.tsx'
import { ConfirmDelete } from '../../html/secrets.tsx'
import { type Column, Table } from '../../html/table.tsx'
import { settingsPath } from '../settings.tsx'
import type { Visit } from '../visit.ts'

/** The programs that the user has authorized, in all accounts of the user. See docs/protocol.md, "Grants". */
export function OwnPrograms({ visit, grants, now }: { visit: Visit; grants: OwnGrant[]; now: number }) {
  return (
    <Programs
      visit={visit}
      tab='sessions'
      grants={grants}
      now={now}
      lead='Programs that you authorized by signing in. Disconnect those you do not use.'
      extraColumn={{ title: 'Account', cell: ({ accountName }) => accountName }}
    />
  )
}

/** The programs that members have authorized for the account; for its owners and admins. */
export function AccountPrograms({ visit, grants, now }: { visit: Visit; grants: AccountGrant[]; now: number }) {
  return (
    <Programs
      visit={visit}
      tab='account'
      grants={grants}
      now={now}
      lead='Programs that members authorized for this account or its agents by signing in.'
      extraColumn={{ title: 'By', cell: ({ email }) => email }}
    />
  )
}

function Programs<Grant extends ListedGrant>(
  { visit, tab, grants, now, lead, extraColumn }: {
    visit: Visit
    tab: 'sessions' | 'account'
    grants: Grant[]
    now: number
    lead: string
    /** The column that only one of the two lists has. */
    extraColumn: Column<Grant>
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
              { title: 'Program', cell: (grant) => <ProgramName grant={grant} now={now} /> },
              { title: 'Acts as', cell: (grant) => <ActsAs grant={grant} /> },
              extraColumn,
              { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
              {
                title: 'Last used',
                cell: ({ lastUsedAt }) => lastUsedAt === null ? 'never' : <Time at={lastUsedAt} now={now} />,
              },
              {
                title: 'Disconnect',
                isUntitled: true,
                align: 'end',
                cell: ({ id, clientName, actsAs, key }) => (
                  <ConfirmDelete
                    action={settingsPath(visit, tab, 'programs', id, 'end')}
                    csrf={visit.csrf}
                    id={id}
                    isSmall
                    label='Disconnect'
                    question={
                      <>
                        Disconnect <strong>{clientName}</strong>? It can no longer act as {actsAs}
                        {key && ', and the key that it fetched stops working at once'}.
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

/** The name that the program gave itself, the host of its document if it has one, and the key that it fetched. See docs/security.md, "Client names". */
function ProgramName({ grant: { clientName, clientDomain, key }, now }: { grant: ListedGrant; now: number }) {
  return (
    <>
      <Name text={clientName} /> <span class='small soft'>{clientDomain ?? 'unverified'}</span>
      {key && (
        <div class='small soft'>
          fetched the key <code>grid_agt_…{key.last4}</code>, {key.lastUsedAt === null ? 'never used' : (
            <>
              last used <Time at={key.lastUsedAt} now={now} />
            </>
          )}
        </div>
      )}
    </>
  )
}

function ActsAs({ grant: { actsAs } }: { grant: ListedGrant }) {
  return <span>{actsAs} {actsAs === '@admin' && <Badge kind='warning'>Admin</Badge>}</span>
}
