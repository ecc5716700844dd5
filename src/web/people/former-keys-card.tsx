/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Card, Time } from '../../html/components.tsx'
import { ConfirmDelete } from '../../html/secrets.tsx'
import { Table } from '../../html/table.tsx'
import type { Visit } from '../visit.ts'

/** An agent key that was shown to somebody who may no longer act as the agents of the account. */
interface FormerKey {
  alias: string
  /** The name or the email address. */
  person: string | null
  last4: string
  lastUsedAt: number | null
}

/** The keys that people took along who left the account or became viewers, each with a button that replaces it. */
export function FormerKeysCard({ visit, keys, now }: { visit: Visit; keys: FormerKey[]; now: number }) {
  return (
    <Card
      title='Keys to replace'
      lead='These agent keys were shown to people who have left the account or may no longer use its agents. The keys still work. Replace each one, and give the new key to the client of the agent.'
      id='former-keys'
    >
      <Table
        id='former-keys-table'
        caption='Agent keys that former members know'
        rows={keys}
        columns={[
          { title: 'Agent', cell: ({ alias }) => <a href={visit.path('agents', alias)}>@{alias}</a> },
          { title: 'Key', cell: ({ last4 }) => <code>grid_agt_…{last4}</code> },
          { title: 'Issued by', cell: ({ person }) => person },
          {
            title: 'Last used',
            cell: ({ lastUsedAt }) => lastUsedAt === null ? 'never' : <Time at={lastUsedAt} now={now} />,
          },
          {
            title: 'Replace',
            isUntitled: true,
            align: 'end',
            cell: ({ alias }) => (
              <ConfirmDelete
                action={visit.path('agents', alias, 'key')}
                csrf={visit.csrf}
                id={`key-of-${alias}`}
                label='Replace'
                icon='again'
                isSmall
                question={`Every key of @${alias} stops working at once. The new one is shown only once; give it to the client.`}
              />
            ),
          },
        ]}
      />
    </Card>
  )
}
