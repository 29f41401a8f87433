import type { Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import type { WaitlistStore } from '../waitlist/waitlist-store.ts'
import { linkPageRoutes } from './link-page-routes.ts'

/** The pages of the links in mails of the waitlist. */
export const waitlistLinkRoutes = (deps: {
  waitlist: Pick<WaitlistStore, 'confirm' | 'remove'>
  urls: ServiceUrls
  now: () => Date
}): Route[] => [
  ...linkPageRoutes(
    {
      path: '/waitlist/confirm',
      operationId: 'confirmWaitlistPage',
      ask: {
        title: 'Confirm that you want to be on the waitlist',
        text: 'Press the button if you, or an agent that you asked to, put your e-mail address on the waitlist.',
        button: 'Confirm',
        otherwise:
          'If you do nothing, your address stays on the list. To take it off, open the other link of the mail.',
      },
      done: { title: 'You are confirmed', text: 'Your place on the waitlist is confirmed.' },
      act: (secretHash) => deps.waitlist.confirm(secretHash, deps.now()),
    },
    deps.urls,
  ),
  ...linkPageRoutes(
    {
      path: '/waitlist/remove',
      operationId: 'leaveWaitlistPage',
      ask: {
        title: 'Take your address off the waitlist',
        text: 'Press the button, and we erase your e-mail address and your place on the waitlist.',
        button: 'Remove me',
      },
      done: {
        title: 'Your address is off the waitlist',
        text: 'We erased it. The link that you shared does not work any more.',
      },
      act: (secretHash) => deps.waitlist.remove(secretHash),
    },
    deps.urls,
  ),
]
