/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { GridError } from '../../errors.ts'
import { deleteSkill, updateSkill } from '../../grid/agents/skills.ts'
import { Card, EmptyState, Notice } from '../../html/components.tsx'
import { Form, SubmitButton, TextArea, TextInput } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { AgentName } from '../accounts/agent-name.tsx'
import { DeleteCard } from '../delete-card.tsx'
import { type FormErrors, formErrors } from '../form-errors.ts'
import { listPosition, ManagersOnlyNote, PageLinks, pageSize, pluralize } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'

/** Registers the page of one skill and its actions. */
export function oneSkillPages({ get, post }: Pages<Visit>): void {
  get('/skills/:skill', show)
  post('/skills/:skill', async (visit) => {
    const id = visit.param('skill')
    const input = skillOf(visit.form)
    await visit.record('update_skill', { id, ...input }, (account) => updateSkill(account, id, input))
    return { redirectTo: `${visit.path('skills', id)}?done=saved` }
  }, show)
  post('/skills/:skill/delete', async (visit) => {
    const id = visit.param('skill')
    // The log keeps the name, which cannot be looked up after the deletion.
    const name = (await visit.account.read.skills.byId(id))?.name
    await visit.record('delete_skill', { id, name }, (account) => deleteSkill(account, id))
    return { redirectTo: `${visit.path('skills')}?done=skill-deleted` }
  })
}

/** The posted name and description. */
export function skillOf(form: URLSearchParams): { name: string; description: string } {
  return { name: form.get('name') ?? '', description: form.get('description') ?? '' }
}

/** Form fields for the name and description of a skill. */
export function SkillFields(
  { skill, errors, isFocused }: {
    skill: { name: string; description: string }
    errors: FormErrors<'name' | 'description'>
    isFocused?: boolean
  },
) {
  return (
    <>
      <TextInput
        name='name'
        label='Name'
        hint='1 to 64 characters. Keep it short.'
        value={skill.name}
        error={errors.name}
        maxLength={64}
        isRequired
        isFocused={isFocused}
      />
      <TextArea
        name='description'
        label='Description'
        hint='When to ask an agent with this skill. Agents read it.'
        value={skill.description}
        error={errors.description}
        maxLength={500}
        rows={3}
        isOptional
      />
    </>
  )
}

async function show(visit: Visit) {
  const { account, query, form, inputError } = visit
  const skill = await account.read.skills.byId(visit.param('skill'))
  if (!skill) throw new GridError('skill_not_found', 'This skill does not exist or was deleted.')
  const at = { ...listPosition(query), search: '', path: visit.path('skills', skill.id) }
  const [agents, total] = await Promise.all([
    account.read.skills.agentsWith(skill.id, pageSize, at.offset),
    account.read.skills.agentsWithTotal(skill.id),
  ])
  const errors = formErrors(visit, at.path, ['name', 'description'])
  const mayManage = visit.may('manage')
  return await appPage(
    visit.frame('skills'),
    {
      title: skill.name,
      lead: skill.description || undefined,
      back: { title: 'Skills', href: visit.path('skills') },
    },
    <>
      {errors.rest && <Notice kind='bad'>{errors.rest}</Notice>}
      <div class='grid halves'>
        <div class='stack'>
          {total === 0
            ? (
              <Card title='Agents'>
                <EmptyState icon='agents' title='No agent has this skill'>
                  {mayManage
                    ? 'Assign it to an agent on the agent’s page.'
                    : 'Owners and admins of the account can assign it to agents.'}
                </EmptyState>
              </Card>
            )
            : (
              <Card title='Agents' lead={`${pluralize(total, 'agent')} with this skill`} isFlush>
                <Table
                  id='agents'
                  caption={`Agents with the skill ${skill.name}`}
                  rows={agents}
                  columns={[{
                    title: 'Agent',
                    cell: ({ alias, description }) => (
                      <AgentName alias={alias} href={visit.path('agents', alias)}>{description}</AgentName>
                    ),
                  }]}
                />
                <PageLinks label='Pages of agents' at={at} total={total} />
              </Card>
            )}
        </div>
        <div class='stack'>
          <Card title='Details'>
            {mayManage
              ? (
                <Form action={at.path} csrf={visit.csrf}>
                  <SkillFields skill={inputError ? skillOf(form) : skill} errors={errors} />
                  <div class='row'>
                    <SubmitButton>Save</SubmitButton>
                  </div>
                </Form>
              )
              : <ManagersOnlyNote visit={visit} what='change skills' />}
          </Card>
          {mayManage && (
            <DeleteCard
              noun='skill'
              lead='It is removed from every agent that has it.'
              action={visit.path('skills', skill.id, 'delete')}
              csrf={visit.csrf}
              question={
                <>
                  Delete <strong>{skill.name}</strong>?{' '}
                  {total === 0 ? 'No agent has it.' : `${pluralize(total, 'agent')} will lose it.`}{' '}
                  This cannot be undone.
                </>
              }
            />
          )}
        </div>
      </div>
    </>,
  )
}
