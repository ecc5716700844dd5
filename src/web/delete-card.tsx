/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Card } from '../html/bits.tsx'
import { ConfirmDelete } from '../html/secrets.tsx'

/** The last card on the page of a thing. `noun` is what it is; `lead` says what goes with it. */
export function DeleteCard(
  { noun, lead, action, csrf, label = `Delete ${noun}`, question }: {
    noun: string
    lead: string
    action: string
    csrf: string
    label?: string
    question: Child
  },
) {
  return (
    <Card title={`Delete this ${noun}`} isDanger lead={lead}>
      <ConfirmDelete action={action} csrf={csrf} label={label} question={question} />
    </Card>
  )
}
