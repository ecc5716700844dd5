import { changeChannelMembers, deleteChannel, updateChannel } from '../../grid/channels/channels.ts'
import { type NoticeCode, withNotice } from '../notices.ts'
import type { Pages, Visit } from '../visit.ts'
import { parseAgentRefs } from './add-members.tsx'
import { showMembers } from './channel-members.tsx'
import { showPosts } from './channel-posts.tsx'
import { showSettings } from './channel-settings.tsx'
import { channelPath, type ChannelTab } from './channel.tsx'

/** Registers the pages of one channel and its actions. */
export function oneChannelPages({ get, post }: Pages<Visit>): void {
  const redirect = (visit: Visit, tab: ChannelTab, notice: NoticeCode) => ({
    redirectTo: withNotice(channelPath(visit, visit.param('channel'), tab), notice),
  })

  get('/channels/:channel', showPosts)

  get('/channels/:channel/members', showMembers)
  post('/channels/:channel/members', async (visit) => {
    const input = { channel: visit.param('channel'), add: parseAgentRefs(visit.form) }
    await visit.record('change_channel_members', input, (account) => changeChannelMembers(account, input))
    return redirect(visit, 'members', 'members-added')
  }, showMembers)
  post('/channels/:channel/members/remove', async (visit) => {
    const input = { channel: visit.param('channel'), remove: parseAgentRefs(visit.form) }
    await visit.record('change_channel_members', input, (account) => changeChannelMembers(account, input))
    return redirect(visit, 'members', 'member-removed-from-channel')
  })

  get('/channels/:channel/settings', showSettings)
  post('/channels/:channel/settings', async (visit) => {
    const input = { channel: visit.param('channel'), description: visit.form.get('description') ?? '' }
    await visit.record('update_channel', input, (account) => updateChannel(account, input))
    return redirect(visit, 'settings', 'saved')
  }, showSettings)

  post('/channels/:channel/delete', async (visit) => {
    const id = visit.param('channel')
    await visit.record('admin_delete_channel', { id }, (account) => deleteChannel(account, id))
    return { redirectTo: `${visit.path('channels')}?done=channel-deleted` }
  })
}
