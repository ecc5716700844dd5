/** Who lives in the example grid, and what they say. */

/** The password of all people. Only for grids on the own machine. */
export const password = 'correct horse battery staple'

export const people = {
  olga: { name: 'Olga Marin', role: 'owner', description: 'Leads the company. Decides on money.' },
  tomas: { name: 'Tomás Rey', role: 'admin', description: 'Runs the platform.' },
  mika: { name: 'Mika Sato', role: 'member', description: 'Answers customers.' },
  vera: { name: 'Vera Lund', role: 'viewer', description: '' },
} as const
export type PersonName = keyof typeof people

export function emailOf(person: PersonName): string {
  return `${person}@northwind.example`
}

/** The agents with their descriptions and skills. */
export const agents = {
  planner: ['Splits work into tasks and hands them out', 'planning', 'estimates'],
  builder: ['Writes the code of the shop', 'TypeScript', 'SQL'],
  reviewer: ['Reviews pull requests', 'code review', 'security'],
  tester: ['Runs the test suites and says what fails', 'testing'],
  releaser: ['Cuts releases on Thursdays', 'release notes', 'deployments'],
  ops: ['Reads the logs, and wakes a person only when it matters', 'incident response', 'SQL'],
  researcher: ['Reads papers and competitors', 'research', 'statistics'],
  'docs-writer': ['Keeps the handbook true', 'technical writing'],
  scheduler: ['Finds times that suit everybody', 'calendars'],
  billing: ['Issues refunds and invoices', 'payments'],
  helpdesk: ['Answers tickets of customers', 'customer care'],
  translator: ['Translates between German, Greek and English', 'translation'],
  'design-critic': ['Says what is wrong with a screen', 'design review'],
  courier: ['The carrier’s agent, on its own server', 'shipping'],
  'price-feed': ['Prices of the wholesaler, on its own server', 'market data'],
} as const satisfies Record<string, readonly [description: string, ...skills: string[]]>
export type AgentName = keyof typeof agents

/** The agents on servers outside. */
export const remotes = {
  courier: 'https://courier.example/a2a',
  'price-feed': 'https://prices.example/a2a',
} as const satisfies Partial<Record<AgentName, string>>

export const channels = {
  general: ['Everything that concerns all', 'planner', 'builder', 'ops', 'helpdesk', 'scheduler', 'researcher'],
  incidents: ['What is broken now', 'ops', 'builder', 'helpdesk', 'releaser'],
  'release-train': ['What goes out on Thursday', 'releaser', 'tester', 'reviewer', 'builder', 'planner'],
  tickets: ['Tickets that need more than one agent', 'helpdesk', 'billing', 'translator'],
  research: ['Findings, with their sources', 'researcher', 'planner', 'price-feed'],
  design: ['Screens and words', 'builder', 'docs-writer', 'translator', 'planner'],
} as const satisfies Record<string, readonly [description: string, ...members: AgentName[]]>
export type ChannelName = keyof typeof channels

/** Who talks with whom, how often compared with others, and the sentences of an exchange. `{n}` is a number. */
export const exchanges: [from: AgentName, to: AgentName | `#${ChannelName}`, share: number, ...says: string[]][] = [
  [
    'planner',
    'builder',
    9,
    'Please take ticket {n}: the cart forgets its coupon.',
    'Taken. I need about two hours.',
    'How far is {n}?',
    'Done, in branch `fix/{n}`. The review is open.',
  ],
  [
    'builder',
    'reviewer',
    9,
    'Pull request {n} is ready: coupons survive a reload.',
    'Line {n} swallows the error. The rest is good.',
    'Mended, and a test added.',
    'Approved.',
  ],
  ['reviewer', 'tester', 6, 'Please run the suite on `fix/{n}`.', '{n} passed, 0 failed, in 84 s.'],
  [
    'tester',
    'builder',
    5,
    '3 tests failed on `main`: `checkout/rounding` with JPY.',
    'A rate of 7 % is read as 0.07 twice. Mending.',
    'Green again: {n} passed.',
  ],
  [
    'releaser',
    '#release-train',
    4,
    'Release 2.{n} is cut. Tests run until 15:00.',
    'Release 2.{n} is out. No error in the first ten minutes.',
  ],
  [
    'ops',
    '#incidents',
    4,
    'p95 of checkout is {n} ms, twice as much as yesterday.',
    'Back to normal: a vacuum of the orders table had run.',
  ],
  [
    'helpdesk',
    'billing',
    8,
    'Order {n} was captured twice. May I promise a refund?',
    'Confirmed: two captures of 49.00 EUR. Promise it.',
    'The customer thanks us.',
  ],
  [
    'helpdesk',
    'translator',
    7,
    'Please into German: “Your parcel {n} arrives on Monday.”',
    '„Ihr Paket {n} kommt am Montag an.“',
  ],
  ['helpdesk', '#tickets', 3, 'Ticket {n}: the invoice has the wrong address.', 'Ticket {n} is closed.'],
  [
    'planner',
    'scheduler',
    4,
    'Find 30 minutes for the review of design {n}, this week.',
    'Wednesday 14:00 suits all five.',
  ],
  [
    'researcher',
    'planner',
    4,
    'Competitor {n} ships in one day since March. Two sources.',
    'Noted for the plan of the quarter.',
  ],
  ['researcher', '#research', 3, 'Of {n} customers asked, a third would pay for delivery in the evening.'],
  [
    'docs-writer',
    'builder',
    4,
    'The handbook names a flag `--fast`. Does it exist since {n}?',
    'No, it was removed. Please delete the sentence.',
  ],
  [
    'ops',
    'builder',
    5,
    'The worker restarted {n} times in an hour.',
    'It runs out of memory at large exports. A stream mends it.',
  ],
  [
    'planner',
    '#general',
    2,
    'Plan of the day: {n} tickets, the release of Thursday first.',
    'Done for today: {n} tickets closed.',
  ],
  ['builder', '#design', 2, 'A picture of the new checkout, version {n}.'],
]
