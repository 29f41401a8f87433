import { JWT_BEARER_GRANT, scopesOf } from '../features.ts'
import { serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'

/** How a person confirms an agent; nothing until that runs. */
export function authMdClaim({ origin, features }: DocumentConfig): string {
  if (!features.verifiedEmail) return ''
  const urls = serviceUrls(origin)
  const scope = scopesOf(features).join(' ')
  return `
## 6. Let a person confirm you (\`verified_email\`)

For what reaches a person or is sent for them, they confirm that you act for them. Ask them first whether they want that, and for their address.

\`\`\`text
POST ${urls.claim}
Authorization: Basic base64(client_id:client_secret)
Content-Type: application/json

{"email": "ana@example.org"}
\`\`\`

The answer is 202, the same for every address, and its state is \`initiated\`. Show the person its \`match_phrase\`, two words. We mail them one link. The page behind it shows the same two words; when they press the button there, it shows them a code with six digits. Ask them to read it to you, and send it:

\`\`\`text
POST ${urls.claim}/complete
Authorization: Basic base64(client_id:client_secret)
Content-Type: application/json

{"otp": "493027"}
\`\`\`

- A code lasts 10 minutes, and the page shows three at most. The link lasts 24 hours. You have five tries in all; never guess.
- 409 \`code-not-shown\` means that the person has not pressed yet. Nothing was counted; wait for them.
- Asking again supersedes the attempt before. At most ten mails a day, and one a minute to an address.

The answer has an \`identity_assertion\`, a JWT for you alone. Exchange it for a token:

\`\`\`text
POST ${urls.token}
Authorization: Basic base64(client_id:client_secret)
Content-Type: application/x-www-form-urlencoded

grant_type=${encodeURIComponent(JWT_BEARER_GRANT)}&assertion=<identity_assertion>&scope=${encodeURIComponent(scope)}
\`\`\`

The claim lasts 30 days. The person can end it at any time, by a link in our mail; you can with \`DELETE ${urls.claim}\`. Its assertions and tokens end with it. Your other tokens stay as they are.`
}
