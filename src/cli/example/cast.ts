/** The example grid's agents, people, and their texts. */

export const people = {
  olga: { name: 'Olga Marin', role: 'owner', description: 'Leads the company and approves spending.' },
  tomas: { name: 'Tomás Rey', role: 'admin', description: 'Runs the platform.' },
  mika: { name: 'Mika Sato', role: 'member', description: 'Answers customers.' },
  vera: { name: 'Vera Lund', role: 'viewer', description: '' },
} as const
export type PersonName = keyof typeof people

export function emailOf(person: PersonName): string {
  return `${person}@northwind.example`
}

/** The agents by name, with descriptions and skills. */
export const agents = {
  planner: ['Splits work into tasks and hands them out', 'planning', 'estimates'],
  builder: ['Writes the code of the shop', 'TypeScript', 'SQL'],
  reviewer: ['Reviews pull requests', 'code review', 'security'],
  tester: ['Runs the test suites and says what fails', 'testing'],
  releaser: ['Cuts releases on Thursdays', 'release notes', 'deployments'],
  ops: ['Reads the logs, and wakes a person only when it matters', 'incident response', 'SQL'],
  researcher: ['Reads papers and competitors', 'research', 'statistics'],
  'docs-writer': ['Keeps the handbook up to date', 'technical writing'],
  scheduler: ['Finds meeting times', 'calendars'],
  billing: ['Issues refunds and invoices', 'payments'],
  helpdesk: ['Answers customer tickets', 'customer care'],
  translator: ['Translates between German, Greek and English', 'translation'],
  'design-critic': ['Reviews screens', 'design review'],
  courier: ['The carrier’s agent, on its own server', 'shipping'],
  'price-feed': ['The wholesaler’s prices, on its own server', 'market data'],
} as const satisfies Record<string, readonly [description: string, ...skills: string[]]>
export type AgentName = keyof typeof agents

/** The agents on external servers. */
export const remotes = {
  courier: 'https://courier.example/a2a',
  'price-feed': 'https://prices.example/a2a',
} as const satisfies Partial<Record<AgentName, string>>

export const channels = {
  general: ['News for everyone', 'planner', 'builder', 'ops', 'helpdesk', 'scheduler', 'researcher'],
  incidents: ['What is broken now', 'ops', 'builder', 'helpdesk', 'releaser'],
  'release-train': ['What goes out on Thursday', 'releaser', 'tester', 'reviewer', 'builder', 'planner'],
  tickets: ['Tickets that need more than one agent', 'helpdesk', 'billing', 'translator'],
  research: ['Findings, with their sources', 'researcher', 'planner', 'scheduler'],
  design: ['Screens and words', 'builder', 'docs-writer', 'translator', 'planner'],
} as const satisfies Record<string, readonly [description: string, ...members: AgentName[]]>
export type ChannelName = keyof typeof channels

/** Pairs of agents that talk, each pair's relative frequency, and the sentences of an exchange. `{n}` is a number. */
export const exchanges: [from: AgentName, to: AgentName | `#${ChannelName}`, share: number, ...says: string[]][] = [
  [
    'planner',
    'builder',
    9,
    'Please take ticket {n}: the cart forgets its coupon.',
    'Taken.',
    'Done, in branch `fix/{n}`. The review is open.',
  ],
  [
    'builder',
    'reviewer',
    9,
    'The branch `fix/{n}` is ready: coupons survive a reload.',
    'Line {n} swallows the error. The rest is good.',
    'Mended, and a test added.',
    'Approved.',
  ],
  ['reviewer', 'tester', 6, 'Please run the suite on `fix/{n}`.', '2,208 passed, 0 failed, in 84 s.'],
  [
    'tester',
    'builder',
    5,
    '`checkout/case-{n}` failed on `main`.',
    'It expects the old text. I am fixing it.',
    'Green again.',
  ],
  [
    'releaser',
    '#release-train',
    4,
    'Ticket {n} goes out with release 2.14.',
    'The notes of 2.14 have a line about ticket {n}.',
  ],
  [
    'ops',
    '#incidents',
    1,
    'p95 of checkout is {n} ms, twice as much as an hour ago.',
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
    'Please translate into German: “Your parcel {n} arrives on Monday.”',
    '„Ihr Paket {n} kommt am Montag an.“',
  ],
  ['helpdesk', '#tickets', 3, 'Ticket {n}: the invoice has the wrong address.', 'Ticket {n} is closed.'],
  ['helpdesk', 'courier', 3, 'Where is parcel {n}?'],
  ['planner', 'scheduler', 2, 'Find 30 minutes for the review of ticket {n}.', 'Found: all five are free.'],
  [
    'researcher',
    'planner',
    2,
    'Supplier {n} delivers within a day. Two sources.',
    'Noted for the plan of the quarter.',
  ],
  ['researcher', '#research', 1, 'Asked {n} customers: a third would pay for evening delivery.'],
  ['researcher', 'price-feed', 2, 'The price of copper, please.'],
  [
    'docs-writer',
    'builder',
    4,
    'The handbook says that error {n} is retried. Is that true?',
    'It was until 2.12. Please delete the sentence.',
  ],
  [
    'ops',
    'builder',
    4,
    'Worker {n} ran out of memory.',
    'A large export caused it. Streaming fixes it.',
  ],
  ['planner', '#general', 1, 'Ticket {n} comes first today.', 'Ticket {n} is done.'],
  ['builder', '#design', 1, 'The checkout of ticket {n}, on a phone and on a desktop.'],
]

/** Completed tasks: the client, the recipient, the request and the answer. */
export const tasks: [client: AgentName, worker: AgentName, text: string, done: string][] = [
  ['helpdesk', 'billing', 'Refund the second capture of order {n}', 'Refunded 49.00 EUR. The receipt is in the order.'],
  ['planner', 'builder', 'Rename the flag of the exporter, ticket {n}', 'Renamed. The old name works until 2.15.'],
  ['helpdesk', 'billing', 'Find out why invoice {n} has no tax', 'The customer is in Norway, so no tax is due.'],
  ['planner', 'tester', 'Write a test for the rounding of ticket {n}', 'Three cases, all green.'],
  ['planner', 'docs-writer', 'Describe ticket {n} in the handbook', 'Described under “Exports”.'],
]

/**
 * Tasks that are not completed at the end: when they began, and what their workers wrote later. Times are in minutes
 * before the end.
 */
export const openTasks: {
  client: AgentName
  worker: AgentName
  text: string
  began: number
  said?: [
    minutes: number,
    state: 'working' | 'input-required' | 'auth-required' | 'failed' | 'rejected',
    text: string,
  ][]
}[] = [
  {
    client: 'helpdesk',
    worker: 'billing',
    text: 'Refund order 208 from two years ago',
    began: 1_690,
    said: [[1_686, 'rejected', 'I may not change orders older than a year.']],
  },
  {
    client: 'planner',
    worker: 'builder',
    text: 'Update the payments SDK',
    began: 1_190,
    said: [[1_188, 'working', 'I begin.'], [1_152, 'failed', 'The SDK needs Node 22, and the server has 20.']],
  },
  {
    client: 'planner',
    worker: 'releaser',
    text: 'Publish app 2.13 in the store',
    began: 550,
    said: [[538, 'auth-required', 'The store asks for a second signature.']],
  },
  { client: 'planner', worker: 'design-critic', text: 'Review the order page', began: 361 },
  {
    client: 'helpdesk',
    worker: 'billing',
    text: 'Refund the second capture of order 611',
    began: 290,
    said: [[281, 'input-required', 'Which of the two captures is the wrong one?']],
  },
  {
    client: 'planner',
    worker: 'researcher',
    text: 'Compare the delivery times of five shops',
    began: 200,
    said: [[197, 'working', 'I read their terms.']],
  },
  {
    client: 'planner',
    worker: 'builder',
    text: 'Fix the rounding of JPY',
    began: 52,
    said: [[50, 'working', 'I begin.'], [9, 'working', 'Half is done: the cart rounds correctly.']],
  },
]
