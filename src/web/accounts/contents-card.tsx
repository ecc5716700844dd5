/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Card, Notice } from '../../html/components.tsx'
import { formErrors, SwitchForm } from '../forms.tsx'
import { settingsPath } from '../settings.tsx'
import type { Visit } from '../visit.ts'

/** Whether people see the texts that guardrails block. See docs/security.md, "Guardrails". */
export function ContentsCard({ visit, isVisible }: { visit: Visit; isVisible: boolean }) {
  const action = settingsPath(visit, 'account', 'contents')
  const errors = formErrors(visit, action, [])
  return (
    <Card id='contents' title='Contents of messages' lead='Whether people see the texts that guardrails block.'>
      {errors.rest && <Notice kind='bad'>{errors.rest}</Notice>}
      <p>
        {isVisible
          ? 'Everybody in this account, viewers too, sees the texts of blocked messages on the pages of guardrails. A text is kept for 7 days.'
          : 'Nobody sees the texts of blocked messages, and they are not kept.'}
      </p>
      <p class='soft small'>
        {isVisible
          ? 'Turning it off removes the texts that are kept. '
          : 'Turned on, the whole text of each message that a guardrail of this account blocks from then on is kept for 7 days, also of messages from other accounts, and shown to everybody in this account. '}
        The originals of redacted messages are never kept. Programs see no texts.
      </p>
      {visit.may('own')
        ? (
          <SwitchForm
            action={action}
            csrf={visit.csrf}
            name='visible'
            isOn={isVisible}
            turnOn='Let people see blocked texts'
            turnOff='Stop showing blocked texts'
          />
        )
        : (
          <p class='soft small'>
            Only owners of the account can change this. Your role is {visit.actor.role}.
          </p>
        )}
    </Card>
  )
}
