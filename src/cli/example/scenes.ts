/** What happens in the example grid in addition to the ordinary messages: tasks, questions, held messages, a loop. */
import { Buffer } from 'node:buffer'
import { approve, refuse } from '../../grid/approvals/decide.ts'
import { heldMessage, heldMessages } from '../../grid/approvals/held.ts'
import { replyToMessage, writeMessage } from '../../grid/conversations/write.ts'
import { givenParts } from '../../grid/message/given-parts.ts'
import { cancelTask } from '../../grid/tasks/tasks.ts'
import { day, hour, minute, second } from '../../lib/time.ts'
import { openTasks, tasks } from './cast.ts'
import type { Team } from './team.ts'

/** Maximum number of unread messages in an inbox of the example grid. One inbox is nearly full. */
export const unreadPerInbox = 300
const loopTurns = 200
const endedTasks = 30
const pickUp = "Please collect the customer's return and credit 12.50 EUR."

/** Schedules the events of all days, and of the last hours before the end. */
export function schedule(team: Team): void {
  const end = team.end
  const before = (minutes: number, run: () => Promise<unknown>) => team.at(end - minutes * minute, run)
  const begin = team.clock.now
  for (let at = begin; at < end; at += end - at > 5 * hour ? 2 * hour : 10 * minute) {
    team.at(at, () => team.settle())
  }
  for (let n = 0; n < endedTasks; n++) {
    team.at(begin + (n + 0.5) / endedTasks * (end - 3 * hour - begin), () => work(team, n))
  }
  for (let at = begin + 5 * hour, n = 0; atWork(at) < end - 6 * hour; at += 17 * hour + 13 * minute, n++) {
    const isRefused = n % 3 === 2
    team.at(at, () => askFor(team, isRefused ? 'Please credit 49.00 EUR for the lost parcel.' : pickUp))
    team.at(atWork(at), () => decide(team, isRefused))
  }
  for (const { client, worker, text, began, said = [] } of openTasks) {
    before(began, async () => {
      const task = await team.startTask(client, worker, text)
      for (const [minutes, state, words] of said) {
        before(minutes, () => team.updateTask(worker, task, state, words))
      }
    })
  }
  const visits = { olga: 94, tomas: 75, mika: 140 }
  for (const [person, minutes] of Object.entries(visits) as [keyof typeof visits, number][]) {
    for (let at = end - minutes * minute; at > begin; at -= 11 * hour) team.at(at, () => team.visit(person))
  }
  before(45, () => team.reserve('builder', ['src/checkout/**', 'SHOP-322'], 'Coupons survive a reload'))
  before(20, () => team.reserve('docs-writer', ['manual/coupons.md'], 'Waits for 2.14'))
  before(360, () => fillInbox(team))
  before(240, () => hold(team))
  before(185, () => team.say('helpdesk', '@courier', { text: 'Where is parcel 822?' }))
  before(184, () => team.say('researcher', '@price-feed', { text: 'The price of copper, please.' }))
  before(175, () => runInCircles(team))
  before(130, () => team.ask('helpdesk', '@mika', 'Ticket 611: a lawyer writes.', ['I take it', 'Ask Olga']))
  before(110, () => report(team))
  before(82, () => {
    const choices = ['Monday 10:00', 'Tuesday 14:00', 'Not this week']
    return team.ask('scheduler', '@olga', 'When should we have the quarterly review?', choices)
  })
  before(74, () => {
    const text = 'Prices change on Monday. Please check the shop.'
    return writeMessage(team.people.tomas(), { to: '#general', text })
  })
  before(66, () => team.ask('releaser', '@tomas', 'May the release slip by a day?', ['Yes', 'No']))
  before(41, () => team.ask('researcher', '@olga', 'The study is done. Will you read it before the board does?'))
  before(34, () => showCheckout(team))
  before(16, () => holdShortly(team))
}

/** Runs a task that ends within two hours. */
async function work(team: Team, n: number): Promise<void> {
  const [client, worker, text, done] = tasks[n % tasks.length]
  const task = await team.startTask(client, worker, text.replace('{n}', String(100 + team.random(900))))
  const start = team.clock.now
  const end = start + (15 + team.random(60)) * minute
  if (n % 10 === 3) return team.at(end, async () => cancelTask(await team.as(client), task))
  team.at(start + 2 * minute, () => team.updateTask(worker, task, 'working', 'I begin.'))
  team.at(end, () => team.updateTask(worker, task, 'completed', done))
}

async function askFor(team: Team, text: string): Promise<void> {
  await team.say('billing', '@courier', { text })
}

/** The owner decides on all held messages. */
async function decide(team: Team, isRefused: boolean): Promise<void> {
  const owner = team.people.olga()
  for (const { id, fromAlias: agent, recipient: to } of await heldMessages(owner)) {
    const { hash } = await heldMessage(owner, id)
    const tool = isRefused ? 'refuse_message' : 'approve_message'
    await team.act('olga', tool, { agent, to }, (account) => {
      const choice = { id, hash }
      return isRefused ? refuse(account, { ...choice, reason: 'Ask the customer first.' }) : approve(account, choice)
    })
  }
  await team.carry()
}

async function fillInbox(team: Team): Promise<void> {
  for (let n = 1; n <= Math.ceil(0.95 * unreadPerInbox); n++) {
    await team.say('builder', '@design-critic', { text: `Screen ${n} of the new checkout: what is wrong with it?` })
    team.clock.now += 8 * second
  }
}

async function runInCircles(team: Team): Promise<void> {
  const pair = ['docs-writer', 'translator'] as const
  for (let n = 0; n <= loopTurns; n++) {
    const [from, to] = n % 2 ? [pair[1], pair[0]] : pair
    await team.read(from)
    const question = n === 0 ? 'Is “Bestellung” the right word for an order?' : 'Thank you. Is that right?'
    await team.say(from, `@${to}`, { text: n % 2 ? 'Thank you, that is right.' : question })
    team.clock.now += 2 * second
  }
  await team.read('translator')
  await team.settle()
}

async function hold(team: Team): Promise<void> {
  const asked = await team.say('courier', '@billing', { text: 'Order 4711: who pays for the second delivery?' })
  for (let n = 0; n < 8; n++) {
    await askFor(team, pickUp)
    await team.pass(minute)
  }
  await team.read('billing')
  await team.say('billing', '@courier', {
    text: [
      'Confirmed: two captures of 49.00 EUR on the same day.',
      '',
      'We pay for the second delivery. Please credit the first one, and send the receipt to accounting.',
    ].join('\n'),
    replyToMessageId: asked?.id,
    parts: givenParts([
      { raw: base64('order,amount\n4711,49.00\n4711,49.00\n'), filename: 'captures.csv', mediaType: 'text/csv' },
      { data: { order: 4711, refund: { amount: '49.00', currency: 'EUR' } } },
    ]),
    expiresInSeconds: 2 * day / 1_000,
  })
  await team.pass(20 * minute)
  await team.say('helpdesk', '@courier', {
    text: 'Here are the labels for the next pick-up.',
    parts: givenParts([{ raw: base64('%PDF-1.4 labels'), filename: 'labels.pdf', mediaType: 'application/pdf' }]),
  })
  await team.say('docs-writer', '@planner', {
    text: 'The customer to call back is Anna Weber, anna.weber@mail.example, +49 151 23456789.',
  })
}

/** Adds the events of the last hour. */
async function holdShortly(team: Team): Promise<void> {
  const plan = await team.say('ops', '@releaser', { text: 'The replica is back. You may deploy 2.14.' })
  await team.pass(40 * second)
  await team.read('releaser')
  await team.say('releaser', '@ops', {
    text: 'Deploy release 2.14 to production, then restart the workers one by one.',
    replyToMessageId: plan?.id,
  })
}

/** Sends a report, which its reader answers 15 minutes later. */
async function report(team: Team): Promise<void> {
  const report = await team.say('planner', '@olga', {
    text: [
      '## This week',
      '',
      '| team | done | open |',
      '| --- | ---: | ---: |',
      '| shop | 31 | 4 |',
      '| support | 112 | 9 |',
      '',
      'The coupons are fixed. JPY is next.',
    ].join('\n'),
  })
  await team.pass(15 * minute)
  if (report) await replyToMessage(team.people.olga(), { messageId: report.id, text: 'Good. Thank you.' })
}

async function showCheckout(team: Team): Promise<void> {
  await team.say('builder', '#design', {
    text: 'Here is the new checkout, measured on three phones.',
    parts: givenParts([
      { raw: base64('phone,first paint\nA,0.8\nB,1.1\nC,1.4\n'), filename: 'checkout.csv', mediaType: 'text/csv' },
    ]),
  })
}

/** A time shortly after the given one, between 8 and 18 o'clock UTC. */
function atWork(time: number): number {
  const soon = time + 5 * minute
  const ofDay = soon % day
  const morning = soon - ofDay + 8 * hour + soon % hour
  return ofDay < 8 * hour ? morning : ofDay < 18 * hour ? soon : morning + day
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
