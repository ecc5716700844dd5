/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Reservations, each with a button to end it. */
import { presenceOf } from '../../grid/agents/find-agent.ts'
import { endReservation } from '../../grid/reservations/end-reservations.ts'
import { Name } from '../../html/bidi.tsx'
import { Badge, Card, EmptyState, Time } from '../../html/components.tsx'
import { ButtonForm } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Pagination, Table } from '../../html/table.tsx'
import type { Reservation } from '../../store/account/reservations.ts'
import { PresenceNow } from '../agents/agent.tsx'
import { pageSize } from '../listing.tsx'
import type { AccountPages, Visit } from '../visit.ts'

export function reservationPages({ get, post }: AccountPages): void {
  get('/reservations', list)
  post('/reservations/:reservation/end', async (visit) => {
    const id = visit.param('reservation')
    const [found] = await visit.account.read.reservations.byIds([id])
    const input = { agent: found?.alias, name: found?.name }
    await visit.record('end_reservation', input, (account) => endReservation(account, id))
    return visit.done('reservation-ended', 'reservations')
  })
}

async function list(visit: Visit): Promise<Response> {
  const { account, path, query } = visit
  const after = Number(query.get('after')) || 0
  const found = await account.read.reservations.page({ agent: '', space: null }, after, pageSize + 1)
  const shown = found.slice(0, pageSize)
  return await appPage(
    visit.frame('reservations'),
    {
      title: 'Reservations',
      lead: 'What agents say they work on. It is advice: nothing is prevented.',
      fresh: ['minute'],
    },
    <Card isFlush>
      {shown.length === 0
        ? (
          <EmptyState icon='reservations' title='Nothing is reserved'>
            An agent reserves paths, tickets or other names with its tool <code>reserve</code>, so that others keep off.
          </EmptyState>
        )
        : <ReservationTable visit={visit} reservations={shown} />}
      {(after > 0 || found.length > pageSize) && (
        <Pagination
          label='Pages of reservations'
          where={`${shown.length} shown`}
          previous={after > 0 ? path('reservations') : undefined}
          next={found.length > pageSize ? `${path('reservations')}?after=${shown.at(-1)!.n}` : undefined}
          titles={['First', 'Next']}
        />
      )}
    </Card>,
  )
}

/** A table of reservations. `isOfOne` means that all belong to one agent. */
export function ReservationTable(
  { visit, reservations, isOfOne = false }: { visit: Visit; reservations: Reservation[]; isOfOne?: boolean },
) {
  const now = visit.account.deps.now()
  return (
    <Table
      id='reservations'
      caption='Reservations'
      rows={reservations}
      columns={[
        { title: 'Name', cell: (row) => <ReservedName {...row} /> },
        !isOfOne && {
          title: 'Agent',
          width: 'wide' as const,
          cell: ({ alias, agentId, lastSeenAt }) => (
            <>
              <a href={visit.path('agents', alias)}>@{alias}</a>{' '}
              <PresenceNow
                presence={presenceOf(visit.account, { id: agentId, remote: null })}
                lastSeenAt={lastSeenAt}
                now={now}
              />
            </>
          ),
        },
        { title: 'Ends', width: 'short', cell: ({ endsAt }) => <Time at={endsAt} now={now} /> },
        visit.may('manage') && {
          title: 'Action',
          isUntitled: true,
          width: 'narrow' as const,
          cell: ({ id, name }) => (
            <ButtonForm action={visit.path('reservations', id, 'end')} kind='plain' isSmall>
              End <span class='unseen'>{name}</span>
            </ButtonForm>
          ),
        },
      ]}
    />
  )
}

function ReservedName({ name, space, shared, note }: Reservation) {
  return (
    <>
      <code>
        <Name text={name} />
      </code>
      {shared && (
        <>
          <Badge>shared</Badge>
        </>
      )}
      {(space !== '' || note !== '') && (
        <div class='soft small'>
          <Name text={[space, note].filter((text) => text !== '').join(' · ')} />
        </div>
      )}
    </>
  )
}
