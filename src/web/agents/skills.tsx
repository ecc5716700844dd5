/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { createSkill } from '../../grid/agents/skills.ts'
import { Card, Notice } from '../../html/components.tsx'
import { ButtonLink, Form, SubmitButton } from '../../html/form.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { formErrors } from '../form-errors.ts'
import { listPage, listPosition, ManagersOnlyNote, pageSize } from '../listing.tsx'
import type { Pages, Visit } from '../visit.ts'
import { oneSkillPages, SkillFields, skillOf } from './skill.tsx'

/** Registers the list of skills, the form for a new one, and the page of each. */
export function skillPages(pages: Pages<Visit>): void {
  pages.get('/skills', list)
  pages.get('/skills/new', showNew)
  pages.post('/skills/new', create, showNew)
  oneSkillPages(pages)
}

async function list(visit: Visit) {
  const { account, query } = visit
  const at = { ...listPosition(query), path: visit.path('skills') }
  const [skills, total] = await Promise.all([
    account.read.skills.search(at.search, pageSize, at.offset),
    account.read.skills.searchTotal(at.search),
  ])
  return listPage(visit, {
    section: 'skills',
    noun: 'skill',
    lead: 'What agents can do. Other agents can search by skill.',
    empty: (
      <>
        Agents of the account share skills by name. An agent can also set its own with the tool <code>set_skills</code>.
      </>
    ),
    at,
    total,
    isFound: skills.length > 0,
    searched: 'name or description',
    table: (
      <Table
        id='skills'
        caption='Skills'
        rows={skills}
        columns={[
          {
            title: 'Skill',
            cell: ({ id, name, description }) => (
              <div>
                <a href={visit.path('skills', id)} dir='auto'>{name}</a>
                {description && <div class='soft small cut' dir='auto'>{description}</div>}
              </div>
            ),
          },
          { title: 'Agents', align: 'number', cell: ({ agentCount }) => agentCount.toLocaleString('en') },
        ]}
      />
    ),
  })
}

async function create(visit: Visit) {
  const input = skillOf(visit.form)
  const { id } = await visit.record('create_skill', input, (account) => createSkill(account, input))
  return { redirectTo: `${visit.path('skills', id)}?done=skill-created` }
}

function showNew(visit: Visit) {
  const action = visit.path('skills', 'new')
  const errors = formErrors(visit, action, ['name', 'description'])
  return appPage(
    visit.frame('skills'),
    {
      title: 'New skill',
      lead: 'A skill can be assigned to any agent of the account.',
      back: { title: 'Skills', href: visit.path('skills') },
    },
    <>
      {errors.rest && <Notice kind='bad'>{errors.rest}</Notice>}
      <Card>
        {visit.may('manage')
          ? (
            <Form action={action} csrf={visit.csrf}>
              <SkillFields skill={skillOf(visit.form)} errors={errors} isFocused />
              <div class='row'>
                <SubmitButton>Create skill</SubmitButton>
                <ButtonLink href={visit.path('skills')} kind='quiet'>Cancel</ButtonLink>
              </div>
            </Form>
          )
          : <ManagersOnlyNote visit={visit} what='create skills' />}
      </Card>
    </>,
  )
}
