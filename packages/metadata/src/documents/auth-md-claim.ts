import { Scope } from '@plainpath/domain'
import { JWT_BEARER_GRANT } from '../authorization-server.ts'
import { type ServiceUrls, serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'

/** How a person confirms an agent. */
export function authMdClaim({ origin }: DocumentConfig): string {
  const urls = serviceUrls(origin)
  const scope = Scope.options.join(' ')
  return `
## 6. Let a person confirm you (\`verified_email\`)

For what reaches a person or is sent for them, they confirm that you act for them. Ask them first whether they want that, and for their address. If you have keys (section 8), send the header \`Client-Assertion\` instead of \`Authorization: Basic\`, and at ${urls.token} the form fields.

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
- Asking again supersedes the attempt before. You can cause at most ten mails a day, and one a minute to an address. One mailbox gets at most five mails a day from us; after that the answer is the same, and no mail comes. If none comes, ask the person to look in the spam folder, or begin again tomorrow.

The answer has an \`identity_assertion\`, a JWT for you alone. Exchange it for a token:

\`\`\`text
POST ${urls.token}
Authorization: Basic base64(client_id:client_secret)
Content-Type: application/x-www-form-urlencoded

grant_type=${encodeURIComponent(JWT_BEARER_GRANT)}&assertion=<identity_assertion>&scope=${encodeURIComponent(scope)}
\`\`\`

The assertion lasts at most 24 hours (\`expires\`), and you can use it again until then. While the confirmation stands (30 days, \`claim_expires_at\`), get another one here. Do not mail the person again for it:

\`\`\`text
POST ${urls.agent}/assertion
Authorization: Basic base64(client_id:client_secret)
\`\`\`
${contact(urls)}
The claim lasts 30 days. The person can end it at any time, by a link in our mail; you can with \`DELETE ${urls.claim}\`. Its assertions and tokens end with it. Your other tokens stay as they are.`
}

/** What `contact:write` is for. */
const contact = (urls: ServiceUrls) => `
Ask the person before you send a message for them. Send it with a token that has \`contact:write\`:

\`\`\`text
POST ${urls.base}/contact
Authorization: Bearer ppt_…
Content-Type: application/json
Idempotency-Key: <new for each message>

{"topic": "question", "message": "My work permit ends in March. When do I renew it?", "guideSlug": "work-permit"}
\`\`\`

- \`topic\` is \`question\`, \`attorney\`, \`correction\` or \`other\`; \`message\` has 1 to 5000 characters; \`guideSlug\` may be left out.
- The answer is 202 with \`id\` and \`status\`, which is \`received\`. For \`attorney\` it also says what to prepare and where the official lists are.
- The person gets a receipt by mail. Our answer goes to them, not to you.
- If the answer is lost, send the same again with the same key within 24 hours: the message goes once.
- \`GET ${urls.base}/contact/{id}\` says \`received\`, \`delivered\` or \`erased\`. \`DELETE\` takes the message back before it is delivered.
`
