/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/**
 * The Network page: a ring or a diagram of groups, and a list of pairs. It contains only counts, so all roles may see
 * it.
 */
import {
  averageAnswerMs,
  type Counts,
  maxAgents,
  type Network,
  type NetworkEdge,
  type NetworkGroup,
  networkGroupings,
  type NetworkNode,
  networkOf,
  type NetworkQuery,
  networkWindows,
  volumeOf,
  worstFirst,
} from './network.ts'
import { Name } from '../../html/bidi.tsx'
import { Badge, Card, Disclosure, EmptyState, LocalTime, Time, timeInWords } from '../../html/components.tsx'
import { durationInWords } from '../../html/conversation/state-line.tsx'
import { appPage } from '../../html/layout.tsx'
import { Ring } from './ring.tsx'
import { searchPath } from '../../html/paths.ts'
import { Table } from '../../html/table.tsx'
import { pluralize } from '../../web/listing.tsx'
import { script, style } from './assets.ts'
import type { Pages, Visit } from '../../web/visit.ts'

/** Maximum number of listed pairs. */
const maxRows = 30
/** Number of busiest pairs that are always drawn. Others need `minShare` of the busiest pair's messages. */
const minDrawn = 12
const minShare = .02
/** Maximum number of listed members of a group. */
const maxShown = 100

const windowTitles = { hour: 'Hour', day: 'Day', week: 'Week' }
const groupTitles = { channel: 'By channel', skill: 'By skill' }

export function networkPages({ get }: Pages<Visit>): void {
  get('/network', show)
}

async function show(visit: Visit) {
  const query = networkQuery(visit.query)
  const network = await networkOf(visit.account, query)
  const { nodes, groups, open, edges, hidden, since, isCut } = network
  const link = (change: Partial<NetworkQuery>) => networkHref(visit, { ...query, ...change })
  const strong = groups.length > 0 ? edges : edges.filter(isStrong)
  // Pairs with problems come first.
  const [failing, others] = [true, false].map((fails) => strong.filter(({ failed }) => failed > 0 === fails))
  const first = [...failing, ...others].slice(0, maxRows)
  const more = edges.filter((edge) => !first.includes(edge))
  const pairs = (
    <>
      {first.length === 0
        ? groups.length > 0 && <p class='pane-note'>Nothing was sent in this period.</p>
        : <EdgeTable id='network' visit={visit} edges={first} />}
      {more.length > 0 && (
        <Disclosure title={pluralize(more.length, 'more pair')}>
          <EdgeTable id='network-more' visit={visit} edges={more} />
        </Disclosure>
      )}
      {isCut && (
        <p class='pane-note'>
          Messages from the {shown(maxAgents)} agents that were seen last are counted, and those from other accounts.
        </p>
      )}
      {hidden > 0 && (
        <p class='pane-note'>
          {pluralize(hidden, 'weaker pair')} without failures {hidden === 1 ? 'is' : 'are'} not shown.
        </p>
      )}
    </>
  )
  return await appPage(
    visit.frame('network'),
    {
      styles: [style.path],
      scripts: [script.path],
      title: 'Network',
      lead: 'Who sends messages to whom, in numbers.',
    },
    <>
      <Card isFlush>
        <div class='bar'>
          <nav class='filters' aria-label='Time'>
            {networkWindows.map((window) => (
              <a href={link({ window })} aria-current={window === query.window ? 'true' : undefined}>
                {windowTitles[window]}
              </a>
            ))}
          </nav>
          <nav class='filters' aria-label='Groups'>
            {networkGroupings.map((by) => (
              <a href={link({ by, open: undefined })} aria-current={by === query.by ? 'true' : undefined}>
                {groupTitles[by]}
              </a>
            ))}
          </nav>
          {open && (
            <>
              <a class='button small' href={link({ open: undefined })}>All groups</a>
              <b>
                <Name text={open.name} />
              </b>
            </>
          )}
          <span class='soft small'>
            Since <LocalTime at={since} />
          </span>
        </div>
        {nodes.length === 0
          ? (
            <EmptyState icon='network' title='No agents yet'>
              Agents and channels of the account appear here.
            </EmptyState>
          )
          : open
          ? <Members visit={visit} group={open} nodes={nodes} />
          : groups.length > 0
          ? <Groups visit={visit} query={query} groups={groups} />
          : <Picture visit={visit} network={{ ...network, edges: strong, hidden: edges.length - strong.length }} />}
        {groups.length === 0 && pairs}
      </Card>
      {groups.length > 0 && <Card title='Pairs' isFlush>{pairs}</Card>}
    </>,
  )
}

/** Whether an edge is drawn; weak edges would clutter the picture. The first of `edges` is the strongest. */
function isStrong(edge: NetworkEdge, n: number, edges: NetworkEdge[]): boolean {
  return n < minDrawn || edge.failed > 0 || volumeOf(edge) >= minShare * volumeOf(edges[0])
}

function networkQuery(query: URLSearchParams): NetworkQuery {
  return {
    window: networkWindows.find((window) => window === query.get('window')) ?? 'day',
    by: networkGroupings.find((by) => by === query.get('group')) ?? 'channel',
    open: query.get('open') ?? undefined,
  }
}

function networkHref({ path }: Pick<Visit, 'path'>, { window, by, open }: NetworkQuery): string {
  const query = new URLSearchParams({ window, group: by, ...(open !== undefined && { open }) })
  return `${path('network')}?${query}`
}

function Picture({ visit, network: { nodes, edges, hidden, since } }: { visit: Visit; network: Network }) {
  const now = visit.account.deps.now()
  return (
    <div class='picture' data-network>
      <p class='soft small' role='status' data-chosen>
        {edges.length === 0
          ? 'Nothing was sent in this period.'
          : hidden === 0
          ? 'Every node and every line is a link.'
          : hidden === 1
          ? 'The weakest pair is not drawn.'
          : `The ${shown(hidden)} weakest pairs are not drawn.`}
      </p>
      <Ring
        label={`${pluralize(nodes.length, 'node')} and ${pluralize(edges.length, 'pair')}, as in the table below`}
        nodes={nodes.map((node) => ({
          ...node,
          group: node.group.name,
          title: nodeInWords(node),
          href: nodeHref(visit, node),
        }))}
        edges={edges.map((edge) => ({
          ...{ a: edge.a.n, b: edge.b.n, there: edge.there, back: edge.back, isFailing: edge.failed > 0 },
          freshness: edge.lastAt === null ? 0 : (edge.lastAt - since) / Math.max(1, now - since),
          title: edgeInWords(edge, now, visit.timeZone),
          href: edgeHref(visit, edge),
        }))}
      />
      <p class='soft small'>
        Thick lines are busy, faded ones old; red dashes mark failures. Hollow agents were not seen in this period.
        Squares are channels.
      </p>
    </div>
  )
}

function nodeInWords({ name, kind, members, sent, received, isSeen }: NetworkNode): string {
  const size = kind === 'group' ? `, ${members} in it` : ''
  const counts = kind === 'channel' ? pluralize(received, 'post') : `sent ${shown(sent)}, received ${shown(received)}`
  return `${name}${size}: ${counts}${kind === 'agent' && !isSeen ? ', not seen in this period' : ''}`
}

function edgeInWords({ a, b, there, back, failed, lastAt }: NetworkEdge, now: number, zone: string): string {
  const ways = [
    there > 0 && `${a.name} to ${b.name} ${shown(there)}`,
    back > 0 && `${b.name} to ${a.name} ${shown(back)}`,
  ].filter(Boolean).join(', ')
  return [
    a === b ? `Within ${a.name} ${shown(there)}` : ways || `${a.name} and ${b.name}`,
    failed > 0 && `${shown(failed)} failed`,
    lastAt !== null && `last ${timeInWords(lastAt, now, zone)}`,
  ].filter(Boolean).join(', ')
}

/** Agents of other accounts have no page in this account. */
function nodeHref(visit: Visit, { kind, name, id, isOutside }: NetworkNode): string | undefined {
  if (isOutside) return undefined
  return kind === 'channel' ? visit.path('channels', id) : visit.path('agents', name.slice(1))
}

function Groups({ visit, query, groups }: { visit: Visit; query: NetworkQuery; groups: NetworkGroup[] }) {
  return (
    <CountsTable
      id='network-groups'
      caption='Groups: failures first, then the slowest, then the busiest'
      title='Group'
      rows={groups.map((group) => ({
        ...group,
        href: group.isOutside ? undefined : networkHref(visit, { ...query, open: group.name }),
        note: pluralize(group.members, group.isOutside ? 'agent' : 'member'),
      }))}
    />
  )
}

function Members({ visit, group, nodes }: { visit: Visit; group: NetworkGroup; nodes: NetworkNode[] }) {
  return (
    <CountsTable
      id='network-members'
      caption={`${group.name}: failures first, then the slowest, then the busiest`}
      title='Member'
      rows={nodes.filter((node) => node.group === group).map((node) => ({
        ...node,
        href: nodeHref(visit, node),
        note: node.isSeen ? undefined : `not ${node.kind === 'channel' ? 'written to' : 'seen'} in this period`,
      }))}
    />
  )
}

interface CountsRow extends Counts {
  name: string
  href?: string
  note?: string
}

function CountsTable(
  { id, caption, title, rows: given }: { id: string; caption: string; title: string; rows: CountsRow[] },
) {
  const volume = ({ sent, received }: Counts) => sent + received
  const most = Math.max(1, ...given.map((row) => volume(row) + row.failed))
  const share = (n: number) => `${(n / most * 100).toFixed(1)}%`
  const rows = given.toSorted(worstFirst)
  const hidden = rows.length - maxShown
  return (
    <>
      <Table
        id={id}
        caption={caption}
        rows={rows.slice(0, maxShown)}
        columns={[
          {
            title,
            cell: (row) => (
              <>
                {row.href === undefined ? <Name text={row.name} /> : (
                  <a href={row.href}>
                    <Name text={row.name} />
                  </a>
                )}
                {row.note && <span class='soft small'>{` ${row.note}`}</span>}
                <svg class='volume' width='100%' height='4' aria-hidden='true' direction='ltr'>
                  <rect class='bar-of' width={share(volume(row))} height='4' />
                  <rect class='bar-of danger' x={share(volume(row))} width={share(row.failed)} height='4' />
                </svg>
              </>
            ),
          },
          { title: 'Sent', align: 'number', width: 'narrow', cell: ({ sent }) => shown(sent) },
          { title: 'Received', align: 'number', width: 'short', cell: ({ received }) => shown(received) },
          { title: 'Failed', align: 'number', width: 'narrow', cell: ({ failed }) => <Failed n={failed} /> },
          {
            title: 'Answers in',
            align: 'number',
            width: 'short',
            cell: (row) => row.answers === 0 ? '–' : durationInWords(averageAnswerMs(row)),
          },
        ]}
      />
      {hidden > 0 && <p class='pane-note'>{shown(maxShown)} of {shown(rows.length)} are shown.</p>}
    </>
  )
}

function Failed({ n }: { n: number }) {
  return n > 0 ? <Badge kind='bad'>{shown(n)}</Badge> : <>0</>
}

/** The target of a pair's link: a conversation or search that the visitor may read, otherwise a page about one end. */
function edgeHref(visit: Visit, edge: NetworkEdge): string {
  const { a, b, there, back, threadId, isReadable } = edge
  if (threadId !== undefined) return visit.path('conversations', String(threadId))
  if (isReadable) {
    // Links to a search if the messages are listed by conversation id or are exchanged with another account.
    const [from, to] = there >= back ? [a, b] : [b, a]
    return `${searchPath(visit.membership.id)}?${new URLSearchParams({ q: `from:${from.name} to:${to.name}` })}`
  }
  return nodeHref(visit, a) ?? nodeHref(visit, b) ?? visit.path('network')
}

function EdgeTable({ id, visit, edges }: { id: string; visit: Visit; edges: NetworkEdge[] }) {
  const now = visit.account.deps.now()
  return (
    <Table
      id={id}
      caption='Pairs: failures first, then the strongest'
      rows={edges}
      columns={[
        {
          title: 'Pair',
          cell: (edge) => (
            <a href={edgeHref(visit, edge)}>
              {edge.a === edge.b ? 'Within ' : (
                <>
                  <Name text={edge.a.name} /> and{' '}
                </>
              )}
              <Name text={edge.b.name} />
            </a>
          ),
        },
        { title: 'Messages', align: 'number', width: 'short', cell: (edge) => shown(volumeOf(edge)) },
        {
          title: 'Each way',
          align: 'number',
          width: 'short',
          cell: ({ a, b, there, back }) => a === b ? '' : `${shown(there)} / ${shown(back)}`,
        },
        {
          title: 'Failed',
          align: 'number',
          width: 'narrow',
          cell: ({ failed }) => <Failed n={failed} />,
        },
        { title: 'Last', width: 'short', cell: ({ lastAt }) => lastAt === null ? '–' : <Time at={lastAt} now={now} /> },
      ]}
    />
  )
}

function shown(n: number): string {
  return n.toLocaleString('en')
}
