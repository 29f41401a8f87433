/** What auth and the API share: the list of members, and the channel of revocation notices. */
const SHARED = '~revocation:state &revocation:notices'

/** What an app needs: its own keys and channels, scripts and their clock, and `INFO` to see how the server is set up. */
const rights = (app: string) =>
  `~${app}:* &${app}:* ${SHARED} -@all +@read +@write +@scripting +@connection +@transaction +@pubsub -@dangerous -@admin +time +info`

/** The ACL file of Redis: a user for each app, who may touch the keys and channels of that app only; no default user. */
export const redisAcl = (passwords: { readonly auth: string; readonly resource: string }): string =>
  [
    'user default off',
    `user auth on >${passwords.auth} ${rights('auth')}`,
    `user resource on >${passwords.resource} ${rights('resource')}`,
    '',
  ].join('\n')
