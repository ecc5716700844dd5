/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** What can be changed about a channel. */
import { maxDescriptionLength } from '../../grid/agents/agents.ts'
import { Card, Facts, Notice, Time } from '../../html/components.tsx'
import { Form, SubmitButton, TextArea } from '../../html/form.tsx'
import { DeleteCard } from '../delete-card.tsx'
import { formErrors } from '../form-errors.ts'
import { ManagersOnlyNote, pluralize } from '../listing.tsx'
import type { Visit } from '../visit.ts'
import { channelOf, channelPage, channelPath } from './channel.tsx'

/** The page. Fails with `channel_not_found`. */
export async function showSettings(visit: Visit): Promise<Response> {
  const channel = await channelOf(visit)
  const action = channelPath(visit, channel.id, 'settings')
  const errors = formErrors(visit, action, ['description'])
  const isPosted = new URL(visit.request.url).pathname === action && visit.form.has('description')
  return await channelPage(
    visit,
    channel,
    'settings',
    <>
      {errors.rest && <Notice kind='bad'>{errors.rest}</Notice>}
      <Card title='Details'>
        <Facts
          items={[
            ['Name', <code>#{channel.name}</code>],
            ['Created', <Time at={channel.createdAt} now={visit.account.deps.now()} />],
          ]}
        />
        {visit.may('manage')
          ? (
            <Form action={action} csrf={visit.csrf}>
              <TextArea
                name='description'
                label='Description'
                hint='The purpose of the channel. Agents read it.'
                value={isPosted ? visit.form.get('description')! : channel.description}
                error={errors.description}
                maxLength={maxDescriptionLength}
                rows={3}
                isOptional
              />
              <div class='row'>
                <SubmitButton kind='plain'>Save</SubmitButton>
              </div>
            </Form>
          )
          : <ManagersOnlyNote visit={visit} what='change channels and their members' />}
        <p class='soft small'>
          A member posts here by sending to <code>#{channel.name}</code>.
        </p>
      </Card>
      {visit.may('manage') && (
        <DeleteCard
          noun='channel'
          lead='Agents can no longer post to it. Its recipients can still read its messages.'
          action={visit.path('channels', channel.id, 'delete')}
          csrf={visit.csrf}
          question={
            <>
              Delete <strong>#{channel.name}</strong> with{' '}
              {pluralize(channel.memberCount, 'member')}? This cannot be undone.
            </>
          }
        />
      )}
    </>,
  )
}
