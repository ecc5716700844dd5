/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Conversations of every kind, for the gallery. */
import { FaceSymbols } from '../../src/html/conversation/faces.tsx'
import { MessageList, type ShownMessage } from '../../src/html/conversation/message.tsx'
import { durationInWords } from '../../src/html/conversation/state-line.tsx'
import { type ShownThread, ThreadList } from '../../src/html/conversation/thread-row.tsx'
import { appPage } from '../../src/html/layout.tsx'
import { frame, minute, now } from './gallery-frame.ts'

const thread = (names: string[], ago: number, from: string, text: string, more: Partial<ShownThread> = {}) => ({
  href: '/conversations',
  names,
  lastAt: now - ago * minute,
  messages: 12,
  preview: { from, text },
  unread: 0,
  isNew: false,
  isCurrent: false,
  ...more,
})

const threads: ShownThread[] = [
  thread(['@planner', '@builder'], 2, '@builder', '3 tests failed in checkout, all in the new tax rules', {
    isCurrent: true,
  }),
  thread(['#incidents'], 9, '@ops', 'db is down, failing over to the replica', { isNew: true }),
  thread(['@ann', '@planner'], 31, '@planner', 'May I move the release to Thursday?', { unread: 2, isNew: true }),
  thread(['@release-manager', '@a-very-long-alias-of-an-agent-00'], 260, '@release-manager', '**Cut** `v2.14.0`'),
  thread(['@planner', '@translator'], 1_500, '@translator', 'تمت الترجمة بالكامل', { label: 'order-4711' }),
  { ...thread(['#night-watch'], 6_000, '@ops', ''), preview: undefined },
]

const builder = { name: '@builder', kind: 'agent', isA2a: false, isForeign: false } as const
const planner = { ...builder, name: '@planner' }
const message = (seq: number, ago: number, text: string, more: Partial<ShownMessage>): ShownMessage => ({
  seq,
  from: planner,
  to: '@builder',
  at: now - ago * minute,
  text,
  parts: [],
  verdicts: [],
  receipts: [{
    alias: 'builder',
    state: 'read',
    events: [
      { event: 'stored', at: now - ago * minute },
      { event: 'woken', at: now - ago * minute + 3 },
      { event: 'read', at: now - ago * minute + 4_000 },
    ],
  }],
  chainHref: '/chain',
  isUnread: false,
  ...more,
})
const toPlanner = { from: builder, to: '@planner' }

const messages: ShownMessage[] = [
  message(1, 1_600, 'Please run the whole suite on `main` and tell me what fails.', {}),
  message(2, 1_590, '> the whole suite\n\nIt takes 8 min. Starting now.', {
    ...toPlanner,
    receipts: [{
      alias: 'planner',
      state: 'replied',
      events: [{ event: 'stored', at: now }, { event: 'replied', at: now + 90_000 }],
    }],
  }),
  message(
    3,
    30,
    [
      '## Result',
      '',
      '| suite | passed | failed |',
      '| --- | ---: | ---: |',
      '| checkout | 211 | **3** |',
      '| search | 98 | 0 |',
      '',
      '1. `tax/rates.test.ts`: expected 19, was 7',
      '2. `tax/rounding.test.ts`',
      '   - only with *JPY*',
      '',
      '```ts',
      'expect(round(1.005, 2)).toBe(1.01) // a line that is much too long for a narrow window, so that it must scroll by itself',
      '```',
      '',
      'See [the log](https://ci.acme.example/runs/4711) and https://ci.acme.example/runs. ![chart](https://charts.example/a.png)',
    ].join('\n'),
    {
      ...toPlanner,
      quote: { from: '@planner', text: 'Please run the whole suite on main and tell me what fails.', href: '#m1' },
      parts: [
        { name: 'report.json', type: 'application/json', size: '48 kB', href: '/parts/1' },
        { name: 'trace.zip', type: 'application/zip', size: '2.1 MB', href: '/parts/2' },
      ],
      whole: { characters: 9_412, href: '?whole=3' },
      verdicts: [{ text: 'redacted: email address', isBad: false }],
    },
  ),
  message(4, 29, 'I can fix the rounding at once. The rates need a decision.', {
    ...toPlanner,
    receipts: [{ alias: 'planner', state: 'leased', events: [{ event: 'stored', at: now }] }],
    replyHref: '#write',
  }),
  message(5, 12, 'Stop all deployments until the tax rules are green.', {
    from: { name: '@ann', kind: 'human', isA2a: false, isForeign: false },
    to: '#incidents',
    receipts: (['replied', 'read', 'read', 'leased', 'stored', 'waiting', 'released', 'parked'] as const).map(
      (state, n) => ({ alias: `agent-${n}`, state, events: [{ event: 'stored', at: now - 12 * minute }] }),
    ),
  }),
  message(6, 8, 'שלום, the shipment is ready\u202e gpj.exe <b>not bold</b>', {
    from: { name: '@dispatcher', kind: 'agent', isA2a: true, isForeign: true },
    to: '@planner',
    verdicts: [{ text: 'flagged: prompt injection', isBad: true }],
    receipts: [{ alias: 'planner', state: 'waiting', events: [{ event: 'stored', at: now - 8 * minute }] }],
    isUnread: true,
    replyHref: '#write',
  }),
  message(7, 1, `Agent @night-watch was deleted ${durationInWords(60_000)} ago.`, {
    from: { name: '@grid', kind: 'system', isA2a: false, isForeign: false },
    to: '@planner',
    receipts: [{ alias: 'planner', state: 'parked', events: [] }],
  }),
]

const names = [...threads.flatMap(({ names }) => names), ...messages.map(({ from }) => from.name)]

export const conversationPages: Record<string, () => Promise<Response>> = {
  '/conversations': () =>
    appPage(
      { ...frame, current: 'overview' },
      { title: '@planner + @builder', isWhole: true },
      <div class='conversations'>
        <FaceSymbols names={names.map((name) => name.replace('@', ''))} />
        <section aria-label='Conversations'>
          <div class='pane-head'>
            <nav class='filters' aria-label='Conversations'>
              <a href='/conversations'>You</a>
              <a href='/conversations' aria-current='page'>All</a>
              <a href='/conversations'>Channels</a>
              <a href='/conversations'>Waiting</a>
            </nav>
          </div>
          <div class='scrolls' tabindex={0}>
            <ThreadList threads={threads} now={now} />
          </div>
        </section>
        <section aria-label='Conversation'>
          <div class='pane-head'>
            <h1>@planner + @builder</h1>
          </div>
          <div class='scrolls' tabindex={0}>
            <MessageList thread={1} messages={messages} firstNew={4} now={now} />
          </div>
        </section>
      </div>,
    ),
}
