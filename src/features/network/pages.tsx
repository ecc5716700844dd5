/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Who sends messages to whom: a picture and the same as a table. Numbers only, so all roles see it. */
import {
  maxAgents,
  type Network,
  type NetworkEdge,
  networkGroupings,
  type NetworkNode,
  networkOf,
  type NetworkQuery,
  networkWindows,
  volumeOf,
} from './network.ts'
import { Name } from '../../html/bidi.tsx'
import { Badge, Card, Disclosure, EmptyState, LocalTime, Time, timeInWords } from '../../html/components.tsx'
import { appPage } from '../../html/layout.tsx'
import { Matrix } from './matrix.tsx'
import { Ring } from './ring.tsx'
import { searchPath } from '../../html/paths.ts'
import { Table } from '../../html/table.tsx'
import { pluralize } from '../../web/listing.tsx'
import { script, style } from './assets.ts'
import type { Pages, Visit } from '../../web/visit.ts'

/** More nodes than this are drawn as a matrix. */
const maxOnRing = 40
/** Pairs that are listed at once. */
const maxRows = 30

const windowTitles = { hour: 'Hour', day: 'Day', week: 'Week' }
const groupTitles = { channel: 'By channel', skill: 'By skill' }

export function networkPages({ get }: Pages<Visit>): void {
  get('/network', show)
}

interface Shown {
  visit: Visit
  query: NetworkQuery
  network: Network
}

async function show(visit: Visit) {
  const query = networkQuery(visit.query)
  const network = await networkOf(visit.account, query)
  const { nodes, edges, hidden, since, isCut } = network
  const link = (change: Partial<NetworkQuery>) => networkHref(visit, { ...query, ...change })
  // What needs a look comes first.
  const rows = [...edges.filter(({ failed }) => failed > 0), ...edges.filter(({ failed }) => failed === 0)]
  const [first, more] = [rows.slice(0, maxRows), rows.slice(maxRows)]
  return await appPage(
    visit.frame('network'),
    {
      styles: [style.path],
      scripts: [script.path],
      title: 'Network',
      lead: 'Who sends messages to whom. It counts, and shows no text.',
    },
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
        {query.open !== undefined && <a class='button small' href={link({ open: undefined })}>All groups</a>}
        <span class='soft small'>
          Since <LocalTime at={since} />
        </span>
      </div>
      {nodes.length === 0
        ? <EmptyState icon='network' title='No agents yet'>Agents and channels of the account appear here.</EmptyState>
        : (
          <Disclosure title='Picture' isNarrow>
            <Picture visit={visit} query={query} network={network} />
          </Disclosure>
        )}
      {first.length > 0 && <EdgeTable id='network' visit={visit} query={query} edges={first} />}
      {more.length > 0 && (
        <Disclosure title={pluralize(more.length, 'more pair')}>
          <EdgeTable id='network-more' visit={visit} query={query} edges={more} />
        </Disclosure>
      )}
      {isCut && (
        <p class='pane-note'>
          It counts what the {shown(maxAgents)} agents have sent that were seen last, and agents of other accounts.
        </p>
      )}
      {hidden > 0 && <p class='pane-note'>{pluralize(hidden, 'weaker pair')} without failures not shown.</p>}
    </Card>,
  )
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

function Picture({ visit, query, network: { nodes, edges, since } }: Shown) {
  const now = visit.account.deps.now()
  const isMatrix = nodes.filter(({ isOutside }) => !isOutside).length > maxOnRing
  const Drawing = isMatrix ? Matrix : Ring
  return (
    <div class='picture' data-network>
      <p class='soft small' role='status' data-chosen>
        {edges.length === 0 ? 'Nothing was sent in this time.' : 'Every node and every line is a link.'}
      </p>
      <div class='scrolls-x' tabindex={0} role='region' aria-label='Picture of the network'>
        <Drawing
          label={`${pluralize(nodes.length, 'node')} and ${pluralize(edges.length, 'pair')}, as in the table below`}
          nodes={nodes.map((node) => ({ ...node, title: nodeInWords(node), href: nodeHref(visit, query, node) }))}
          edges={edges.map((edge) => ({
            ...{ a: edge.a.n, b: edge.b.n, there: edge.there, back: edge.back, isFailing: edge.failed > 0 },
            freshness: edge.lastAt === null ? 0 : (edge.lastAt - since) / Math.max(1, now - since),
            title: edgeInWords(edge, now, visit.timeZone),
            href: edgeHref(visit, query, edge),
          }))}
        />
      </div>
      <p class='soft small'>
        {isMatrix
          ? 'A row sent, a column received. Stronger: more messages. Red and on its corner: some failed.'
          : 'Thicker: more messages. Faded: older ones. Red and dashed: some failed.'}{' '}
        Hollow: not seen in this time. Square: a channel.
      </p>
    </div>
  )
}

function nodeInWords({ name, kind, members, sent, received, isSeen }: NetworkNode): string {
  const size = kind === 'group' ? `, ${members} in it` : ''
  const counts = kind === 'channel' ? pluralize(received, 'post') : `sent ${shown(sent)}, received ${shown(received)}`
  return `${name}${size}: ${counts}${kind === 'agent' && !isSeen ? ', not seen in this time' : ''}`
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

/** Agents of other accounts have no page here. */
function nodeHref(visit: Visit, query: NetworkQuery, { kind, name, id, isOutside }: NetworkNode): string | undefined {
  if (isOutside) return undefined
  if (kind === 'channel') return visit.path('channels', id)
  return kind === 'agent' ? visit.path('agents', name.slice(1)) : networkHref(visit, { ...query, open: name })
}

/** The conversation if the visitor may read it; otherwise a page about the ends. */
function edgeHref(visit: Visit, query: NetworkQuery, edge: NetworkEdge): string {
  const { a, b, there, back, threadId, isReadable } = edge
  if (threadId !== undefined) return visit.path('conversations', String(threadId))
  if (isReadable) {
    // Their messages have conversation ids, or are with another account.
    const [from, to] = there >= back ? [a, b] : [b, a]
    return `${searchPath(visit.membership.id)}?${new URLSearchParams({ q: `from:${from.name} to:${to.name}` })}`
  }
  const folded = [a, b].find(({ kind, name }) => kind === 'group' && name !== query.open)
  return [folded ?? a, a, b].map((node) => nodeHref(visit, query, node)).find(Boolean) ?? visit.path('network')
}

function EdgeTable({ id, visit, query, edges }: { id: string; edges: NetworkEdge[] } & Omit<Shown, 'network'>) {
  const now = visit.account.deps.now()
  return (
    <Table
      id={id}
      caption='Pairs: failures first, then the strongest'
      rows={edges}
      columns={[
        {
          title: 'Who',
          cell: (edge) => (
            <a href={edgeHref(visit, query, edge)}>
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
          cell: ({ failed }) => failed > 0 ? <Badge kind='bad'>{shown(failed)}</Badge> : '0',
        },
        { title: 'Last', width: 'short', cell: ({ lastAt }) => lastAt === null ? '–' : <Time at={lastAt} now={now} /> },
      ]}
    />
  )
}

function shown(n: number): string {
  return n.toLocaleString('en')
}
