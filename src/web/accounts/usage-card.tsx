/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { limitsOf } from '../../grid/limits.ts'
import { megabyte } from '../../grid/message/quota.ts'
import { Meter, usedInWords } from '../../html/attention.tsx'
import { Card } from '../../html/components.tsx'
import { startOfDay } from '../../lib/time.ts'
import type { AccountSubject, Visit } from '../visit.ts'

export const usage: AccountSubject = {
  path: 'usage',
  title: 'Usage today',
  words: 'quota limits messages size',
  async state(visit) {
    const { messages, megabytes } = await usedToday(visit)
    return { text: `${usedInWords(messages)}, ${usedInWords(megabytes)}`, link: 'Open' }
  },
  page: (visit) => UsageCard({ visit }),
}

/** Usage of today's quotas. */
export async function UsageCard({ visit }: { visit: Visit }) {
  const { messages, megabytes } = await usedToday(visit)
  return (
    <Card id='usage' title='Usage today' lead='Since midnight UTC'>
      <Meter label='Messages' {...messages} />
      <Meter label='Size' {...megabytes} />
    </Card>
  )
}

async function usedToday({ account }: Visit) {
  const [{ messagesPerDay, megabytesPerDay }, { account: { messages, bytes } }] = await Promise.all([
    limitsOf(account),
    account.read.usage.of(startOfDay(account.deps.now()), null),
  ])
  return {
    messages: { used: messages, quota: messagesPerDay, unit: 'messages' },
    megabytes: { used: Math.ceil(bytes / megabyte), quota: megabytesPerDay, unit: 'MB' },
  }
}
