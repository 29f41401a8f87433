/* oxlint-disable */
// Written by "npm run generate" from packages/metadata/openapi.json.
export interface paths {
    "/guides": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List published immigration guides with slugs and summaries
         * @description `q` searches them. A token is optional.
         */
        get: operations["listGuides"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/guides/{slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read one guide as JSON, or as Markdown
         * @description `Accept: text/markdown` gets the guide as one Markdown text. A retired guide is 410 `guide-retired`, whose `successor` names the guide to read instead. A token is optional.
         */
        get: operations["getGuide"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/answers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a question from the guides, or hand the person to an attorney
         * @description Ask in two steps. First send the question alone. If the response has `check`, put these questions to the person, and send the same question with all answers so far as `facts`, and with what else of `GET /api/triggers` applies; repeat until `check` is empty. A fact can add a hand-off, and never removes one.
         *
         *     No language model is used: every sentence is from a guide, a trigger or a fixed text. The question is neither stored nor logged. While staff have paused answers: 503 `answers-paused` with `findHelp`. Scripts of any origin may call it. A token is optional.
         */
        post: operations["answerQuestion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/triggers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the triggers that hand a person to an attorney
         * @description Compare them with what the person told you, and send those that apply as `facts` of `POST /api/answers`. Triggers that staff disabled are not listed. A token is optional.
         */
        get: operations["listTriggers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/waitlist": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Join the product waitlist
         * @description Get the person's consent before you send their address. Addresses are case-insensitive. If several requests with the same address arrive at the same time, exactly one of them gets 201. The person then gets one e-mail with the referral link, a link to confirm the address and a link to leave the waitlist. If that e-mail could not be delivered, repeat the request: the response is 200, and a new e-mail is queued. A referral counts when the referred person confirms. The e-mail can be delayed by up to two days if many e-mails are queued for its domain. If too many e-mails are waiting, the response is 429 with the `policy` `mails-waiting`. A token is optional.
         */
        post: operations["joinWaitlist"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/waitlist/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Request removal from the waitlist
         * @description If the address is on the waitlist, the person gets an e-mail with a link to the removal page. The response is the same for every address. If too many e-mails are waiting, the response is 429 with the `policy` `mails-waiting`. A token is optional.
         */
        post: operations["forgetWaitlist"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/contact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message for a person to the people behind Plainpath
         * @description For a person who confirmed the agent (`POST /api/agent/claim`): the reply and a receipt go to their address. Ask the person before you send, and show them `reply`. Staff get the message at `heldUntil`. If it has an urgent trigger, that is within one minute. Until then it can be withdrawn, with DELETE or by the link in the receipt.
         *
         *     If you repeat a request with the same `Idempotency-Key`, nothing is sent and you get the same response. You get 409 `idempotency-in-progress` while the first request is in progress, 422 `idempotency-key-reused` if the body differs, and 409 `message-withdrawn` if the message was withdrawn or erased. If you send the same message again within 24 hours without a key, you get 409 `duplicate-message`. Its member `first` is the id of the earlier message.
         */
        post: operations["sendContactMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/contact/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the status of a message
         * @description Only the client that sent the message can read its status, and only under the confirmation with which it sent the message. Any other request gets 404.
         */
        get: operations["getContactMessage"];
        put?: never;
        post?: never;
        /**
         * Withdraw a message before it is delivered
         * @description Erases the message. This always works until `heldUntil`. While the message is being delivered, you get 409 `message-being-delivered`, and after that 409 `already-delivered`. If a delivery failed before, the message is erased, but staff may have it: you get 409 `message-may-be-delivered`. `detail` says what can still be done.
         */
        delete: operations["deleteContactMessage"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register an AI agent client for client_credentials access
         * @description No credential is needed. Register once for each person that you act for, and store the response. If it is lost, register again. The service chooses id, secret, scopes and grants.
         */
        post: operations["registerAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the registration of the client: identity, scopes and limits
         * @description The response never includes a secret.
         */
        get: operations["getAgent"];
        put?: never;
        post?: never;
        /**
         * Delete the client, revoke all its tokens, and erase its name
         * @description No request that begins after the response succeeds with a token of this client.
         */
        delete: operations["deleteAgent"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/jwks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Replace the public keys of the client; its secret is revoked
         * @description The body is the whole new set: one to three public keys. From the response on, other keys are refused, and the client authenticates only with `private_key_jwt`. If the set lacks an earlier key, or replaces a secret, all tokens of the client are revoked; a set that only adds keys revokes none. For up to 30 seconds the token endpoint can accept the old secret (its tokens are revoked already), or not yet know a new key. If the response is lost, authenticate with the new key and send the set again.
         *
         *     A client that cannot sign with its new key locks itself out for good. `proof` rules that out: for each new key a JWT signed with it, used once. Header: `typ` `jwks-proof+jwt`, `alg`, `kid`. Claims: `iss` (the `client_id`), `aud` (the URL of this endpoint), `iat`, `exp` (at most 300 seconds later), `jti`, `jkts` (the RFC 7638 thumbprints of all keys of the set). A mistake in a proof is 400 `invalid-key-proof`, and nothing changes.
         */
        put: operations["replaceAgentKeys"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/dpop-required-scopes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Allow bearer tokens for contact:write again
         * @description Once a client got a token for `contact:write` that is bound to a key (RFC 9449), it gets that scope only with a DPoP proof: `GET /api/agent` lists the scope in `dpop_required_scopes`. This ends that until the next such token. For up to 30 seconds the token endpoint can still require the proof. No token is revoked.
         */
        delete: operations["deleteDpopRequiredScopes"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a second secret; the first expires 7 days later
         * @description No body is read. Both secrets work until the old one expires or is revoked. A client has at most two: 409 `too-many-secrets`. If the response is lost, find the new secret with `GET /api/agent`, revoke it, and create another. An agent with keys has no secrets: 409 `client-has-keys`.
         */
        post: operations["createAgentSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/secrets/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a secret of the client, and all tokens of the client
         * @description Tokens do not record which secret obtained them, so all tokens of the client are revoked: get a new one with the other secret, which then no longer expires. The last secret cannot be revoked: 409 `last-secret`.
         */
        delete: operations["deleteAgentSecret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask a person, by e-mail, to confirm that you act for them
         * @description Starts e-mail verification: a mail with one link goes to the address. Show the person the `match_phrase`, and ask them for the code that the page behind the link shows. The response is the same for every address, whether a mail was sent or not. A new attempt supersedes the one before. A mail can be up to 23 hours late if there are many to its domain, and its link then works after `expires_at`; if too many are waiting: 429 (`policy` `mails-waiting`).
         */
        post: operations["beginClaim"];
        /**
         * Revoke the e-mail verification, its assertions and tokens, and cancel an open attempt
         * @description The address is erased. The client itself and its other tokens stay.
         */
        delete: operations["endClaim"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/claim/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send the code that the person read to you
         * @description An attempt takes five codes in all; a wrong one is 400 `otp-invalid` with `attempts_remaining`. Until the page has shown a code, and if the mail could not be delivered: 409 `code-not-shown`, which does not count. After the link has expired: 410 `claim-expired`.
         */
        post: operations["completeClaim"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agent/assertion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get another identity assertion while the e-mail verification is valid
         * @description The assertion says that the person behind this client controls a mailbox. It contains no address, is valid for 24 hours at most, and only this client can exchange it. Without an e-mail verification: 409 `no-claim`.
         */
        post: operations["createAssertion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get an access token (RFC 6749)
         * @description Authenticate in one way: HTTP Basic (`client_secret_basic`), `client_id` and `client_secret` in the form (`client_secret_post`), or, with keys, `client_assertion` and `client_assertion_type` in the form (`private_key_jwt`). Only the jwt-bearer grant gives `contact:write`.
         */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke an access token (RFC 7009)
         * @description Authenticate as at the token endpoint. A client can revoke only its own tokens. No request that begins after the response succeeds with the token.
         */
        post: operations["revokeToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Health check for monitoring
         * @description Returns 200 while guides can be read. The status `degraded` means that something that other operations need does not work.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Identifies a guide in URLs. */
        GuideSlug: string;
        GuideHistoryLine: {
            /**
             * Format: date
             * @description The day the text changed.
             */
            date: string;
            /** @description The version in which it changed. */
            version: number;
            /** @description Begins with `Corrected: `, `Added: ` or `Removed: `. */
            text: string;
        };
        GuideListing: {
            slug: components["schemas"]["GuideSlug"];
            title: string;
            summary: string;
            /**
             * Format: date
             * @description The text follows its sources as of this day. `history` of the guide itself has the days when the text changed.
             */
            updated: string;
            /** @description The day that an attorney reviewed the guide; null before. */
            reviewed: string | null;
            /**
             * Format: uri
             * @description The page for people.
             */
            url: string;
            /**
             * Format: uri
             * @description The guide as JSON, or as Markdown with `Accept: text/markdown`.
             */
            apiUrl: string;
            /** @description With `q`: the best-matching part of the guide, as plain text. */
            snippet?: string;
            /** @description With `q`: the section that `snippet` is from. */
            section?: {
                heading: string;
                /**
                 * Format: uri
                 * @description The section on the page for people.
                 */
                url: string;
            };
        };
        GuideSource: {
            /**
             * @description The kind of source, which decides its `limitDays`.
             * @enum {string}
             */
            kind: "statute" | "regulation" | "form-instructions" | "agency-page" | "contact";
            /**
             * Format: date
             * @description The date of the copy of the page from which the statements were read; the first possible day if only a month or a period is known. The page may have changed since.
             */
            copyFrom: string;
            /** @description What kind of copy was read, and how its date is known. */
            checkedBy: string;
            /** @description How many days after `checked` the copy counts as current. */
            limitDays: number;
        } & components["schemas"]["PassageSource"];
        PassageSource: {
            title: string;
            /** Format: uri */
            url: string;
            agency: string;
            /**
             * Format: date
             * @description The same day as `copyFrom`. Nobody verified the page on this day.
             */
            checked: string;
            /** @description True if `checked` is more than `limitDays` ago. */
            stale: boolean;
        };
        AnswerRequest: {
            /** @description A question in plain English. Do not include names or document numbers. */
            question: string;
            /** @description Facts that the person told you, keyed by trigger. `true` results in a hand-off to an attorney. `false` removes the question from `check`. */
            facts?: {
                [key: string]: boolean;
            } | null;
        };
        /** @enum {string} */
        TriggerId: "suicide-risk" | "detention-ice" | "missed-hearing" | "abuse-victim" | "crime-or-trafficking-victim" | "asylum-deadline" | "missed-deadline" | "child-alone" | "removal-order" | "removal-proceedings" | "asylum-fear" | "risky-travel" | "aging-out-child" | "denial-or-appeal" | "criminal-history" | "smuggling" | "status-violation" | "relationship-changed" | "waiver-needed" | "unlawful-presence" | "misrepresentation-fraud" | "false-citizenship-or-voting" | "long-absence" | "security-or-persecutor" | "scam-victim" | "public-charge" | "citizenship-dispute";
        Link: {
            title: string;
            /** Format: uri */
            url: string;
        };
        Help: {
            title: string;
            /** Format: uri */
            url?: string;
            phone?: string;
        };
        JoinWaitlistRequest: {
            /** Format: email */
            email: string;
            /** @description The slug of the person who made the referral. An unknown slug is accepted. */
            referredBySlug?: string | null;
        };
        ContactRequest: {
            /**
             * @description `question`: about a guide. `attorney`: the person needs a lawyer; the response adds `prepare` and `attorneyLists`. `correction`: a guide or an answer is wrong. `other`: anything else.
             * @enum {string}
             */
            topic: "question" | "attorney" | "correction" | "other";
            /** @description What the person wants to say. Leave out document numbers. */
            message: string;
            /** @description The guide that the message is about. */
            guideSlug?: components["schemas"]["GuideSlug"] | null;
            /** @description Why the person needs a lawyer. A message with an urgent trigger is read first. Send this only if the person agrees. */
            handOff?: {
                /** @description Ids of triggers that `GET /api/triggers` lists. */
                triggers: components["schemas"]["TriggerId"][];
            } | null;
        };
        RegisterAgentRequest: {
            /** @description Shown to people as unverified. An empty one counts as none. */
            client_name?: string | null;
            /** @description Only `anonymous`; may be omitted. */
            type?: string | null;
            /** @description With keys there is no secret: authenticate with `private_key_jwt`. */
            jwks?: {
                /** @description Public keys, P-256 or Ed25519. */
                keys: components["schemas"]["PublicJwk"][];
            } | null;
            /** @description If true, token requests need a DPoP proof (RFC 9449). */
            dpop_bound_access_tokens?: boolean | null;
            /** @description Not supported: send `jwks`. */
            jwks_uri?: unknown;
        };
        PublicJwk: {
            /** @description `EC` or `OKP`. */
            kty: string;
            /** @description `P-256` or `Ed25519`. */
            crv: string;
            /** @description 32 bytes, base64url. */
            x: string;
            /** @description 32 bytes, base64url; for P-256 only. */
            y?: string | null;
            /** @description If absent, the thumbprint of the key (RFC 7638). */
            kid?: string | null;
            /** @description `ES256` for P-256; `EdDSA` or `Ed25519` for Ed25519. */
            alg?: string | null;
            use?: string | null;
            key_ops?: string[] | null;
        };
        AgentKeySet: {
            /** @description Each key has a `kid` and an `alg`. */
            keys: components["schemas"]["PublicJwk"][];
        };
        AgentSecret: {
            /** Format: uuid */
            secret_id: string;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When the secret expires. Absent: it does not expire.
             */
            ends_at?: string;
        };
        ReplaceAgentKeysRequest: {
            /** @description Public keys, P-256 or Ed25519. */
            keys: components["schemas"]["PublicJwk"][];
            /**
             * @description A JWT signed with the new key, or a list with one for each new key. Without it the response has a `warning`.
             * @example eyJhbGciOiJFUzI1NiJ9.e30.c2ln
             */
            proof?: (string | string[]) | null;
        };
        /** @enum {string} */
        Scope: "guides:read" | "waitlist:write" | "contact:write";
        /**
         * @example {
         *       "grant_type": "client_credentials"
         *     }
         * @example {
         *       "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
         *       "assertion": "eyJhbGciOiJFUzI1NiJ9.e30.c2ln",
         *       "scope": "guides:read waitlist:write contact:write"
         *     }
         */
        TokenRequest: {
            /**
             * @description jwt-bearer (RFC 7523) is for an agent that a person confirmed.
             * @enum {string}
             */
            grant_type: "client_credentials" | "urn:ietf:params:oauth:grant-type:jwt-bearer";
            /** @description The `identity_assertion` of an e-mail verification, for jwt-bearer only. */
            assertion?: string;
            /** @description Scopes separated by spaces; by default all of the grant. Others are left out. */
            scope?: string;
            /** @description Absent, or the API root or the MCP server (RFC 8707), which name the same API. */
            resource?: string;
            /** @description With `client_secret`, instead of HTTP Basic. */
            client_id?: string;
            client_secret?: string;
            /** @description A JWT signed with a key of the client (RFC 7523), used once, valid for five minutes at most. */
            client_assertion?: string;
            /**
             * @description Required with `client_assertion`.
             * @constant
             */
            client_assertion_type?: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        } & ({
            /** @constant */
            grant_type: "client_credentials";
        } | {
            /** @constant */
            grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer";
        });
        RevokeRequest: {
            /** @description The access token. */
            token: string;
            token_type_hint?: string;
            /** @description With `client_secret`, instead of HTTP Basic. */
            client_id?: string;
            client_secret?: string;
            /** @description A JWT signed with a key of the client (RFC 7523), used once, valid for five minutes at most. */
            client_assertion?: string;
            /**
             * @description Required with `client_assertion`.
             * @constant
             */
            client_assertion_type?: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        };
        BeginClaimRequest: {
            /**
             * Format: email
             * @description The address of the person you act for. Ask the person before you send it.
             */
            email?: string | null;
            /**
             * Format: email
             * @description An alias of `email`.
             */
            login_hint?: string | null;
        };
        CompleteClaimRequest: {
            /** @description The six digits that the person read to you, as a string. Spaces and hyphens are ignored. */
            otp?: string | null;
            /** @description An alias of `otp`. */
            user_code?: string | null;
            /** @description If absent, your newest attempt is completed. */
            claim_attempt_id?: string | null;
        };
        Guide: {
            slug: components["schemas"]["GuideSlug"];
            /**
             * Format: uri
             * @description The page for people, with the published version.
             */
            url: string;
            title: string;
            summary: string;
            /** @description Markdown. `[n]` points at the n-th of `sources`. */
            body: string;
            /** @description The official pages that support the guide. */
            sources: components["schemas"]["GuideSource"][];
            /**
             * Format: date
             * @description The text follows its sources as of this day. `history` has the days when the text changed.
             */
            updated: string;
            /** @description The day that an attorney reviewed the guide; null before. */
            reviewed: string | null;
            /** @description True if at least one statement is stale. */
            stale: boolean;
            /** @description How many sentences and list items state a fact. */
            statements: number;
            /** @description How many of them have only stale sources, or none. */
            staleStatements: number;
            /** @description Unchecked links and phone numbers: no source supports them. */
            notChecked: string[];
            /** @description Changes that readers of an older version should know, newest first. */
            history: components["schemas"]["GuideHistoryLine"][];
            /** @description Increases with every change of the text. */
            version: number;
            /** @description BCP 47. */
            language: string;
            /** @description Show it with the guide. */
            disclaimer: string;
            /** @description When a licensed attorney is needed. */
            talkToAnAttorneyWhen: string[];
        };
        GuideList: {
            /** @description Published guides, ordered by slug; with `q`, the best match first. */
            guides: components["schemas"]["GuideListing"][];
            /** @description The opaque cursor of the next page; null on the last page. */
            next: string | null;
        };
        Answer: {
            /** @enum {string} */
            outcome: "information" | "hand_off" | "out_of_scope";
            /** @description Sorted by relevance, the best match first. */
            passages: {
                /** @description `guide#section`. For the introduction of a guide, the slug alone. */
                id: string;
                guide: components["schemas"]["GuideSlug"];
                guideTitle: string;
                heading: string;
                text: string;
                /** @description The text as Markdown. `[n]` refers to the nth item of `sources`. Links are absolute. */
                markdown: string;
                /**
                 * Format: uri
                 * @description The URL of the section on the website.
                 */
                url: string;
                /** @description False if the section covers the subject but does not answer the question. See `limits`. */
                answers: boolean;
                sources: components["schemas"]["PassageSource"][];
            }[];
            handOff?: {
                /** @description Sorted by urgency, the most urgent reason first. */
                reasons: {
                    trigger: string;
                    /** @enum {string} */
                    urgency: "urgent" | "high" | "normal";
                    /** @description Why an attorney is needed. */
                    why: string;
                    /** @description The person's words that matched the trigger. Long numbers are removed. */
                    matched: string[];
                    /** @enum {string} */
                    because: "question" | "facts";
                    source: components["schemas"]["Link"];
                }[];
                doNow: string[];
                findHelp: components["schemas"]["Help"][];
                contact: {
                    /** @enum {string} */
                    topic: "question" | "attorney" | "correction" | "other";
                    /** Format: uri */
                    url: string;
                };
            };
            outOfScope?: {
                /** @enum {string} */
                reason: "other-country" | "other-subject" | "no-guide" | "asks-to-deceive" | "not-understood";
                /** @description Text to show to the person. There are two languages if the question is in Spanish. */
                notices: {
                    language: string;
                    text: string;
                }[];
                /** @description Official pages about the subject. */
                links: components["schemas"]["Link"][];
                findHelp: components["schemas"]["Help"][];
                /** @description A guide about a related subject. It does not answer the question. */
                nearGuide?: components["schemas"]["Link"];
            };
            /** @description Questions to ask the person, the most likely to apply first. Send the answers in `facts`. */
            check: {
                trigger: string;
                ask: string;
            }[];
            /** @description What the passages do not answer. */
            limits?: string;
            /** @description Show the disclaimer with the answer. */
            disclaimer: string;
            /** @description Requests with the same question and facts get the same response on the same day while the version is the same. */
            answersVersion: string;
            /** @description Diagnostic data, present only with `?explain=true`. Its members can change. */
            explain?: Record<string, never>;
        };
        TriggerList: {
            /** @description The most urgent first. */
            triggers: {
                /** @description Its name in `facts` of `POST /api/answers`. */
                id: components["schemas"]["TriggerId"];
                /** @enum {string} */
                urgency: "urgent" | "high" | "normal";
                /** @description Why an attorney is needed. */
                why: string;
                /** @description The yes-or-no question that decides whether it applies. */
                ask: string;
                source: components["schemas"]["Link"];
                /** @description Changes with every change of the trigger. */
                version: string;
            }[];
        };
        JoinedWaitlist: {
            /** @constant */
            status: "joined";
            /** @description Identifies the entry in its referral link. */
            referralSlug: string;
            /**
             * Format: uri
             * @description The link to give to others.
             */
            referralUrl: string;
        };
        AlreadyOnWaitlist: {
            /** @constant */
            status: "already_joined";
        };
        ContactReceived: {
            /** Format: uuid */
            id: string;
            /** @constant */
            status: "received";
            /**
             * Format: date-time
             * @description When the message goes to staff. Until then it can be withdrawn.
             */
            heldUntil: string;
            /** @description Show it to the person: when to expect a reply, and what to do until then. */
            reply: {
                expected: string;
                ifYouCannotWait: string;
                findHelp: components["schemas"]["Help"][];
            };
            /** @description Only for `attorney`: what to have ready. */
            prepare?: string[];
            /** @description Only for `attorney`. */
            attorneyLists?: {
                title: string;
                /** Format: uri */
                url: string;
                about: string;
            }[];
        };
        ContactState: {
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            status: "received" | "delivered" | "erased";
            /**
             * Format: date-time
             * @description When the message goes to staff, or went there. Absent for an erased message.
             */
            heldUntil?: string;
        };
        RegisteredAgent: {
            /**
             * @description 0: it does not expire.
             * @constant
             */
            client_secret_expires_at: 0;
            /**
             * @description `client_secret_post` is also accepted.
             * @constant
             */
            token_endpoint_auth_method: "client_secret_basic";
            /** @description Returned only here. Store it, and keep it out of logs. */
            client_secret: string;
        } & components["schemas"]["AgentRegistration"];
        RegisteredKeyAgent: {
            /**
             * @description Present if all keys use the same algorithm.
             * @enum {string}
             */
            token_endpoint_auth_signing_alg?: "ES256" | "EdDSA" | "Ed25519";
            jwks: components["schemas"]["AgentKeySet"];
            /** @constant */
            token_endpoint_auth_method: "private_key_jwt";
        } & components["schemas"]["AgentRegistration"];
        AgentDescription: {
            /** @description Whether a person has verified their e-mail for this client. */
            email_verified: boolean;
            /** @description The host that the client has proven to control. Absent unless proven. */
            verified_domain?: string;
            /** @description Present while an e-mail verification is valid. */
            registration_id?: string;
            /** Format: date-time */
            claim_expires_at?: string;
            /** @description Scopes that the client gets only with a DPoP proof: `contact:write`, once it got a bound token with it. `DELETE /api/agent/dpop-required-scopes` ends this. */
            dpop_required_scopes?: components["schemas"]["Scope"][];
            /**
             * @description 0: it does not expire.
             * @constant
             */
            client_secret_expires_at?: 0;
            /** @description Its valid secrets, the oldest first; at most two. */
            secrets?: components["schemas"]["AgentSecret"][];
            /** @enum {string} */
            token_endpoint_auth_method: "client_secret_basic" | "private_key_jwt";
            /**
             * @description Present if all keys use the same algorithm.
             * @enum {string}
             */
            token_endpoint_auth_signing_alg?: "ES256" | "EdDSA" | "Ed25519";
            jwks?: components["schemas"]["AgentKeySet"];
            /** @description Limits of the client at the authorization server. `token-domain` is shared by all clients of its registrable domain. */
            limits: {
                /** @description The name in `RateLimit-Policy`. */
                policy: string;
                /** @description Requests per window. */
                quota: number;
                window_seconds: number;
            }[];
        } & WithRequired<components["schemas"]["AgentRegistration"], "email_verified">;
        AddedSecret: {
            /** Format: uuid */
            secret_id: string;
            /** Format: date-time */
            created_at: string;
            client_id: string;
            /** @description Returned only here. Store it, and keep it out of logs. */
            client_secret: string;
            /**
             * @description 0: it does not expire.
             * @constant
             */
            client_secret_expires_at: 0;
            /** @description Its valid secrets, the oldest first; at most two. */
            secrets: components["schemas"]["AgentSecret"][];
        };
        ReplacedAgentKeys: {
            /** @description Present if a new key was accepted without proof. */
            warning?: string;
        } & components["schemas"]["AgentDescription"];
        TokenResponse: {
            /** @description Opaque. Send it as `Authorization: Bearer`, or as `DPoP` with a proof. */
            access_token: string;
            /**
             * @description `DPoP` if the request had a proof (RFC 9449): the token is bound to the key of the proof.
             * @enum {string}
             */
            token_type: "Bearer" | "DPoP";
            /** @description In seconds. */
            expires_in: number;
            /** @description The scopes of the token. */
            scope: string;
            /**
             * Format: date-time
             * @description When the registration (not the token) expires unless the client gets another token first.
             */
            client_expires_at: string;
        };
        Health: {
            /**
             * @description `degraded`: guides are served, but one of `checks` failed, or answers are paused or unavailable.
             * @enum {string}
             */
            status: "ok" | "degraded";
            version: string;
            checks: {
                /**
                 * @description The waitlist and messages need it.
                 * @enum {string}
                 */
                database: "ok" | "failed";
                /**
                 * @description Requests with a token need it.
                 * @enum {string}
                 */
                auth: "ok" | "failed";
            };
            /** @description The state of `POST /api/answers`. */
            answers: {
                /**
                 * @description `paused`: staff stopped answers. `unavailable`: this instance has not yet read what staff turned off.
                 * @enum {string}
                 */
                status: "ok" | "paused" | "unavailable";
                withdrawnSections: string[];
                disabledTriggers: string[];
            };
        };
        Problem: {
            /**
             * Format: uri
             * @description A page that says what to do next.
             */
            type: string;
            title: string;
            status: number;
            /** @description What is wrong, and what to do next. */
            detail: string;
            instance: string;
            /** @description The kind of error. Decide by it. */
            code: string;
            /** @description Quote it when you report a fault. */
            request_id: string;
            /** @description Every mistake in the input. */
            errors?: {
                /** @description A JSON pointer (`#/email`) or a parameter (`?limit`). */
                pointer: string;
                detail: string;
            }[];
        };
        AgentProblem: {
            /** @description The error code of OAuth 2.0. Each `code` has one; several may share it. */
            error: string;
            error_description: string;
        } & components["schemas"]["Problem"];
        OAuthError: {
            /** @description The error code of OAuth 2.0. Each `code` has one; several may share it. */
            error: string;
            error_description: string;
            /**
             * Format: uri
             * @description A page that says what to do next.
             */
            error_uri: string;
            /** @description The kind of error. Decide by it. */
            code: string;
        };
        BegunClaim: {
            /** @description The id of the e-mail verification. */
            registration_id: string;
            claim_attempt_id: string;
            /** @constant */
            status: "initiated";
            /** @description Two words to show to the person. The page behind the mailed link shows the same words. */
            match_phrase: string;
            /**
             * Format: date-time
             * @description When the mailed link expires.
             */
            expires_at: string;
            delivery: {
                /** @constant */
                method: "email";
                /** @description The address, mostly masked. */
                to: string;
            };
            /** @description The number of digits of the code. */
            otp_length: number;
            /** @description How many codes you may send for this attempt, right or wrong. */
            attempts_allowed: number;
            /** @description Seconds until another mail to the mailbox can be requested. */
            resend_after: number;
        };
        CompletedClaim: {
            claim_attempt_id: string;
            /** @constant */
            status: "completed";
        } & components["schemas"]["RenewedAssertion"];
        RenewedAssertion: {
            registration_id: string;
            /** @enum {string} */
            identity_type: "anonymous" | "verified_email";
            /** @description A JWT that your client can exchange for tokens. */
            identity_assertion: string;
            /**
             * Format: date-time
             * @description When the assertion expires.
             */
            expires: string;
            /**
             * Format: date-time
             * @description When the e-mail verification expires, unless it is revoked earlier.
             */
            claim_expires_at: string;
            grant_types: string[];
            /** @description The scopes that a token obtained with the assertion can have. */
            scopes: components["schemas"]["Scope"][];
            /** @description The same scopes, separated by spaces. */
            scope: string;
            /** Format: uri */
            token_endpoint: string;
        };
        AgentRegistration: {
            client_id: string;
            client_name?: string;
            /**
             * @description How the person is identified.
             * @enum {string}
             */
            identity_type: "anonymous" | "verified_email";
            email_verified: boolean;
            grant_types: string[];
            /** @description What its tokens may have. */
            scopes: components["schemas"]["Scope"][];
            /** @description The same, space-separated. */
            scope: string;
            /** @description Unix time. */
            client_id_issued_at: number;
            /** Format: uri */
            token_endpoint: string;
            /**
             * Format: uri
             * @description The API that tokens are for (RFC 8707).
             */
            resource: string;
            /**
             * Format: date-time
             * @description When it expires unless the client gets a token: 7 days after registration (an hour in a flood), then at least 90 days after its last token.
             */
            idle_expiry: string;
            /** @constant */
            dpop_bound_access_tokens?: true;
            /**
             * Format: uri
             * @description Where to start e-mail verification.
             */
            claim_url: string;
            /** @description The same once a person confirmed the agent. */
            post_claim_scopes: components["schemas"]["Scope"][];
        };
    };
    responses: {
        /** @description A failure (RFC 9457): `code` identifies it, `detail` says what to do next. */
        Problem: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                Allow: components["headers"]["Allow"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "https://plainpath.example/problems/invalid-request",
                 *       "title": "The request is not valid",
                 *       "status": 400,
                 *       "detail": "#/email: is missing.",
                 *       "instance": "/api/waitlist",
                 *       "code": "invalid-request",
                 *       "request_id": "0199f3c2-5b7e-7c1a-9a37-3f0d6f2f9c11",
                 *       "errors": [
                 *         {
                 *           "pointer": "#/email",
                 *           "detail": "is missing"
                 *         }
                 *       ]
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A failure (RFC 9457), with `error` and `error_description` for OAuth clients. */
        AgentProblem: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                Allow: components["headers"]["Allow"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["AgentProblem"];
            };
        };
        /** @description A failure (RFC 6749, section 5.2). */
        OAuthError: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                Allow: components["headers"]["Allow"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "error": "invalid_scope",
                 *       "error_description": "This client cannot have any of the requested scopes.",
                 *       "error_uri": "https://plainpath.example/problems/invalid-scope",
                 *       "code": "invalid-scope"
                 *     }
                 */
                "application/json": components["schemas"]["OAuthError"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description Send it as `If-None-Match`: 304 means that nothing changed. */
        ETag: string;
        /** @description With 429 and 503: seconds to wait. */
        "Retry-After": number;
        /** @description With 401 and 403: the scheme, and for tokens `scope` and `resource_metadata`. */
        "WWW-Authenticate": string;
        /** @description With 405: the supported methods. */
        Allow: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listGuides: {
        parameters: {
            query?: {
                /** @description The number of guides on a page; 100 by default. */
                limit?: number;
                /** @description `next` of the previous page. */
                cursor?: string;
                /** @description Words, a form number or a question to search for; misspellings are tolerated. The best guide comes first, each with a `snippet`. Not with `cursor`. */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The guides. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "guides": [
                     *         {
                     *           "slug": "work-permit",
                     *           "title": "How to get a work permit",
                     *           "summary": "Who can ask for one, and which form to send.",
                     *           "updated": "2026-11-20",
                     *           "reviewed": null,
                     *           "url": "https://plainpath.example/guides/work-permit",
                     *           "apiUrl": "https://plainpath.example/api/guides/work-permit"
                     *         }
                     *       ],
                     *       "next": null
                     *     }
                     */
                    "application/json": components["schemas"]["GuideList"];
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    getGuide: {
        parameters: {
            query?: {
                /** @description An earlier version: its text as published then, and `stale` as of today. */
                version?: number;
            };
            header?: never;
            path: {
                /** @description Identifies a guide in URLs. */
                slug: components["schemas"]["GuideSlug"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The guide, with its sources. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Guide"];
                    "text/markdown": string;
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    answerQuestion: {
        parameters: {
            query?: {
                /** @description `true` adds the rules and scores that decided, as `explain`. */
                explain?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswerRequest"];
            };
        };
        responses: {
            /** @description `information`: passages, and questions to put to the person. `hand_off`: why an attorney is needed, and what to do now. `out_of_scope`: why no guide answers, and perhaps questions to put to the person. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Answer"];
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    listTriggers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The triggers, the most urgent first. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerList"];
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    joinWaitlist: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JoinWaitlistRequest"];
            };
        };
        responses: {
            /** @description The address is already on the waitlist. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "already_joined"
                     *     }
                     */
                    "application/json": components["schemas"]["AlreadyOnWaitlist"];
                };
            };
            /** @description The address joined the waitlist. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "joined",
                     *       "referralSlug": "k3v7q2mzt5ndw4ha",
                     *       "referralUrl": "https://plainpath.example/?ref=k3v7q2mzt5ndw4ha"
                     *     }
                     */
                    "application/json": components["schemas"]["JoinedWaitlist"];
                };
            };
            /** @description The request is invalid: `errors` names each mistake. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    forgetWaitlist: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** Format: email */
                    email: string;
                };
            };
        };
        responses: {
            /** @description Accepted. If the address is on the waitlist, the person gets an e-mail. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "accepted"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "accepted";
                    };
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    sendContactMessage: {
        parameters: {
            query?: never;
            header?: {
                /** @description A key that you choose, a new one for each message: printable ASCII without spaces. A repeated request is recognised by its key for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ContactRequest"];
            };
        };
        responses: {
            /** @description Received. It goes to staff by e-mail at `heldUntil`. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContactReceived"];
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    getContactMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The status: `received` until the message goes to staff, then `delivered`. `erased` if the message was withdrawn, or its text was deleted later. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "6f6c0f0e-6f2b-4d1c-9a5e-2a9d1f6f3b10",
                     *       "status": "delivered",
                     *       "heldUntil": "2026-11-20T12:10:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["ContactState"];
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    deleteContactMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Erased. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
    registerAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RegisterAgentRequest"];
            };
        };
        responses: {
            /** @description The agent is registered. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegisteredAgent"] | components["schemas"]["RegisteredKeyAgent"];
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    getAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The registration. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentDescription"];
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    deleteAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The client is deleted, and its tokens are revoked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    replaceAgentKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplaceAgentKeysRequest"];
            };
        };
        responses: {
            /** @description The client, with its new keys. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplacedAgentKeys"];
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    deleteDpopRequiredScopes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No scope requires a proof, unless the client registered `dpop_bound_access_tokens`. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    createAgentSecret: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new secret, and when the old one expires. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddedSecret"];
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    deleteAgentSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The secret is revoked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    beginClaim: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeginClaimRequest"];
            };
        };
        responses: {
            /** @description The attempt is recorded. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "registration_id": "clm_3q2-7wEhtsm0aKX9dPz1Vg",
                     *       "claim_attempt_id": "cla_Yw0x2C8mFh5Rk7Tq1Vb4Zd",
                     *       "status": "initiated",
                     *       "match_phrase": "amber river",
                     *       "expires_at": "2026-11-21T14:00:00.000Z",
                     *       "delivery": {
                     *         "method": "email",
                     *         "to": "a•••@example.org"
                     *       },
                     *       "otp_length": 6,
                     *       "attempts_allowed": 5,
                     *       "resend_after": 60
                     *     }
                     */
                    "application/json": components["schemas"]["BegunClaim"];
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    endClaim: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description There is no e-mail verification, and no open attempt. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    completeClaim: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompleteClaimRequest"];
            };
        };
        responses: {
            /** @description The person has confirmed you, for 30 days. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CompletedClaim"];
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    createAssertion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An identity assertion. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RenewedAssertion"];
                };
            };
            "4XX": components["responses"]["AgentProblem"];
            default: components["responses"]["AgentProblem"];
        };
    };
    createToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": components["schemas"]["TokenRequest"];
            };
        };
        responses: {
            /** @description A token. It expires after an hour at most. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "access_token": "ppt_h4Jd8Kf0Lg2Zm6Xn1Cv5Bb9Qw3Er7Ty0Ui4Op8As2Df",
                     *       "token_type": "Bearer",
                     *       "expires_in": 3600,
                     *       "scope": "guides:read waitlist:write",
                     *       "client_expires_at": "2027-02-19T14:04:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["TokenResponse"];
                };
            };
            "4XX": components["responses"]["OAuthError"];
            default: components["responses"]["OAuthError"];
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": components["schemas"]["RevokeRequest"];
            };
        };
        responses: {
            /** @description The token is revoked, or was not valid before. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /** @example {} */
                    "application/json": Record<string, never>;
                };
            };
            "4XX": components["responses"]["OAuthError"];
            default: components["responses"]["OAuthError"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Guides can be read. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "version": "0.1.0",
                     *       "checks": {
                     *         "database": "ok",
                     *         "auth": "ok"
                     *       },
                     *       "answers": {
                     *         "status": "ok",
                     *         "withdrawnSections": [],
                     *         "disabledTriggers": []
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Health"];
                };
            };
            "4XX": components["responses"]["Problem"];
            default: components["responses"]["Problem"];
        };
    };
}
type WithRequired<T, K extends keyof T> = T & {
    [P in K]-?: T[P];
};
