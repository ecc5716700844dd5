/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { limitsOf } from '../../grid/limits.ts'
import { megabyte } from '../../grid/message/quota.ts'
import { Meter } from '../../html/attention.tsx'
import { Card } from '../../html/components.tsx'
import { startOfDay } from '../../lib/time.ts'
import type { Visit } from '../visit.ts'

/** What was sent today, of what the quotas allow. */
export async function UsageCard({ visit: { account } }: { visit: Visit }) {
  const [{ messagesPerDay, megabytesPerDay }, { account: { messages, bytes } }] = await Promise.all([
    limitsOf(account),
    account.read.usage.of(startOfDay(account.deps.now()), null),
  ])
  return (
    <Card id='usage' title='Usage today' lead='Since midnight UTC'>
      <Meter label='Messages' used={messages} quota={messagesPerDay} unit='messages' />
      <Meter label='Size' used={Math.ceil(bytes / megabyte)} quota={megabytesPerDay} unit='MB' />
    </Card>
  )
}
