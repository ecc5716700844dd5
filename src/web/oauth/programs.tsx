/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { type AccountGrant, type ListedGrant, listGrants, type OwnGrant } from '../../grid/oauth/grants.ts'
import { Name } from '../../html/bidi.tsx'
import { Badge, Card, EmptyState, Time } from '../../html/components.tsx'
import { ConfirmDelete } from '../../html/secrets.tsx'
import { type Column, Table } from '../../html/table.tsx'
import { settingsPath } from '../settings.tsx'
import type { AccountSubject, Visit } from '../visit.ts'

interface ListProps<Grant> {
  visit: Visit
  grants: Grant[]
  now: number
}

/** The programs that the user has authorized, in all accounts. See docs/protocol/oauth.md, "Grants". */
export function OwnPrograms({ visit, grants, now }: ListProps<OwnGrant>) {
  return (
    <Programs
      lead='Programs that you authorized by signing in. Disconnect those you do not use.'
      grants={grants}
      columns={[
        programColumn(now),
        actsAsColumn,
        accountColumn,
        ...timeColumns(now),
        disconnectColumn((id) => settingsPath(visit, 'sessions', 'programs', id, 'end')),
      ]}
    />
  )
}

export const programs: AccountSubject = {
  path: 'programs',
  title: 'Programs',
  words: 'oauth mcp clients connected disconnect',
  may: 'manage',
  async state(visit) {
    const { length } = await listGrants(visit.account)
    const text = length === 0 ? 'No programs are connected' : `${length} connected by signing in`
    return { text, link: 'Open' }
  },
  async page(visit) {
    const { now } = visit.account.deps
    return <AccountPrograms visit={visit} grants={await listGrants(visit.account)} now={now()} />
  },
}

/** The programs that members have authorized for the account, shown to owners and admins. */
function AccountPrograms({ visit, grants, now }: ListProps<AccountGrant>) {
  return (
    <Programs
      lead='Programs that members authorized for this account or its agents by signing in.'
      grants={grants}
      columns={[
        programColumn(now),
        actsAsColumn,
        userColumn,
        ...timeColumns(now),
        disconnectColumn((id) => settingsPath(visit, 'account', 'programs', id, 'end')),
      ]}
    />
  )
}

/** The programs that act as the agent `alias`. Owners and admins see all members' programs, others only their own. */
export function AgentPrograms({ visit, grants, now, alias }: ListProps<AccountGrant> & { alias: string }) {
  const { may, path } = visit
  return (
    <Programs
      lead={may('manage')
        ? `Programs that act as @${alias} because a member signed in.`
        : `Programs that act as @${alias} because you signed in. Disconnect them under Settings, Sessions.`}
      grants={grants}
      columns={[
        programColumn(now),
        userColumn,
        ...timeColumns(now),
        ...(may('manage') ? [disconnectColumn((id) => path('agents', alias, 'programs', id, 'end'))] : []),
      ]}
    />
  )
}

function Programs<Grant extends ListedGrant>(
  { lead, grants, columns }: { lead: string; grants: Grant[]; columns: Column<Grant>[] },
) {
  return (
    <Card title='Programs' lead={lead} id='programs'>
      {grants.length === 0
        ? (
          <EmptyState icon='key' title='No programs'>
            MCP clients that sign in through the browser are listed here.
          </EmptyState>
        )
        : <Table id='grants' caption='Programs that have access' rows={grants} columns={columns} />}
    </Card>
  )
}

function programColumn(now: number): Column<ListedGrant> {
  return { title: 'Program', cell: (grant) => <ProgramName grant={grant} now={now} /> }
}

const actsAsColumn: Column<ListedGrant> = { title: 'Acts as', cell: (grant) => <ActsAs grant={grant} /> }
const accountColumn: Column<OwnGrant> = { title: 'Account', cell: ({ accountName }) => accountName }
const userColumn: Column<AccountGrant> = { title: 'By', cell: ({ email }) => email }

function timeColumns(now: number): Column<ListedGrant>[] {
  return [
    { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
    {
      title: 'Last used',
      cell: ({ lastUsedAt }) => <Time at={lastUsedAt} now={now} />,
    },
  ]
}

/** Returns a column with a button that ends a grant. `endPath` returns the path of the button's form by grant id. */
function disconnectColumn(endPath: (id: string) => string): Column<ListedGrant> {
  return {
    title: 'Disconnect',
    isUntitled: true,
    cell: ({ id, clientName, actsAs, key }) => (
      <ConfirmDelete
        action={endPath(id)}
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
  }
}

/**
 * Shows the program's chosen name, the host of its metadata document if it has one, and the agent key that it fetched.
 * See docs/security.md, "OAuth".
 */
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
