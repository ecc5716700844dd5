/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { createSkill } from '../../grid/agents/skills.ts'
import { Card, EmptyState, Notice } from '../../html/bits.tsx'
import { ButtonLink, Form, SubmitButton } from '../../html/form.tsx'
import { Icon } from '../../html/icons.tsx'
import { appPage } from '../../html/layout.tsx'
import { Table } from '../../html/table.tsx'
import { formFault } from '../faults.ts'
import { NothingFound, OnlyManagers, PageLinks, pageSize, placeOf, SearchBar } from '../listing.tsx'
import { oneSkillPages, SkillFields, skillOf } from './skill.tsx'
import type { Pages, Visit } from '../visit.ts'

/** Skills: their list, a new one, and the page of each. */
export function skillPages(pages: Pages<Visit>): void {
  pages.get('/skills', list)
  pages.get('/skills/new', fresh)
  pages.post('/skills/new', create, fresh)
  oneSkillPages(pages)
}

async function list(visit: Visit) {
  const { account, query } = visit
  const at = { ...placeOf(query), path: visit.path('skills') }
  const [skills, total] = await Promise.all([
    account.read.skills.found(at.search, pageSize, at.offset),
    account.read.skills.foundTotal(at.search),
  ])
  const newSkill = visit.may('manage') && (
    <ButtonLink href={visit.path('skills', 'new')} kind='main-action'>
      <Icon name='plus' />New skill
    </ButtonLink>
  )
  const isEmpty = total === 0 && at.search === ''
  return appPage(
    visit.frame('skills'),
    {
      title: 'Skills',
      lead: 'What agents say they can do. Others find them by it.',
      actions: !isEmpty && newSkill,
    },
    isEmpty
      ? (
        <Card>
          <EmptyState icon='skills' title='No skills yet' action={newSkill}>
            Skills are shared by name in the account. An agent can also name its own, with the tool{' '}
            <code>set_skills</code>.
          </EmptyState>
        </Card>
      )
      : (
        <Card isFlush>
          <SearchBar path={at.path} label='Find a skill' search={at.search} />
          {skills.length === 0 && at.search !== '' && <NothingFound {...at} where='name or description' />}
          {skills.length > 0 && (
            <Table
              id='skills'
              caption='Skills'
              rows={skills}
              columns={[
                {
                  title: 'Skill',
                  cell: ({ id, name, description }) => (
                    <div>
                      <a href={visit.path('skills', id)}>{name}</a>
                      {description && <div class='soft small cut'>{description}</div>}
                    </div>
                  ),
                },
                { title: 'Agents', align: 'number', cell: ({ agentCount }) => agentCount.toLocaleString('en') },
              ]}
            />
          )}
          <PageLinks label='Pages of skills' at={at} total={total} />
        </Card>
      ),
  )
}

async function create(visit: Visit) {
  const input = skillOf(visit.form)
  const { id } = await visit.record('create_skill', input, (account) => createSkill(account, input))
  return { goTo: `${visit.path('skills', id)}?done=skill-created` }
}

function fresh(visit: Visit) {
  const action = visit.path('skills', 'new')
  const fault = formFault(visit, action, ['name', 'description'])
  return appPage(
    visit.frame('skills'),
    {
      title: 'New skill',
      lead: 'A name that agents of the account can carry.',
      back: { title: 'Skills', href: visit.path('skills') },
    },
    <>
      {fault.rest && <Notice kind='bad'>{fault.rest}</Notice>}
      <Card>
        {visit.may('manage')
          ? (
            <Form action={action} csrf={visit.csrf}>
              <SkillFields skill={skillOf(visit.form)} fault={fault} isFocused />
              <div class='row'>
                <SubmitButton>Create skill</SubmitButton>
                <ButtonLink href={visit.path('skills')} kind='quiet'>Cancel</ButtonLink>
              </div>
            </Form>
          )
          : <OnlyManagers visit={visit} what='create skills' />}
      </Card>
    </>,
  )
}
