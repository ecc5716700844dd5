/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { Card } from '../html/components.tsx'
import { ConfirmDelete } from '../html/secrets.tsx'

/** A card that deletes the subject of the page. `noun` names its kind; `lead` says what else the deletion affects. */
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
