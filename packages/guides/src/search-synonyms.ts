/**
 * Groups of related search terms. The first is usually the name in our guides; other names and the form number follow. A search
 * for one term also finds the others, so a broad word widens every search that contains it. Commas separate terms, and each group
 * begins on a line without indentation.
 */
const SYNONYM_GROUPS = `
green card, permanent resident card, resident card, I-551, mica, lpr card, permanent residence,
    residency card
permanent resident, lawful permanent resident, LPR, green card holder, legal resident, resident
I-90, replace permanent resident card, renew a green card, new green card
work permit, employment authorization, employment authorization document, EAD, I-765, I-766, work card,
    work authorization, permission to work, work papers, work legally, allowed to work
travel document, advance parole, reentry permit, re-entry permit, I-131, refugee travel document,
    travel permit, travel outside, leave the US, go abroad, trip
naturalization, citizenship, N-400, become a citizen, US citizen application, naturalize,
    citizenship application
armed forces, military, army, navy, marines, air force, coast guard, national guard, soldier, veteran,
    service member, military service, N-426
certificate of citizenship, N-600, N-600K, citizenship through a parent, citizen through a parent,
    derived citizenship, derivative citizenship, automatic citizenship, citizen automatically
naturalization test, citizenship test, civics test, civics questions, civics, citizenship exam,
    english test, history test, N-648
adjustment of status, adjust status, I-485, AOS, green card from inside the US, apply from inside
consular processing, immigrant visa, DS-260, NVC, National Visa Center, embassy, consulate, CEAC,
    visa interview
family petition, I-130, petition for alien relative, petition for a relative, file for a relative,
    bring family, ask for family, sponsor a relative
affidavit of support, I-864, financial sponsor, joint sponsor, cosponsor, co-sponsor,
    sponsor income, poverty guidelines
remove conditions, conditional green card, conditional residence, conditional resident, I-751,
    two-year green card, 2-year green card
fiance visa, fiancé, fiancee, K-1, K1, I-129F, engaged, fiance, boyfriend, girlfriend
change of address, AR-11, new address, moved, moving, move house, EOIR-33, address
change of status, extend stay, I-539, extension of stay, overstay, stay longer, extend a visa,
    visitor visa, tourist visa, B-2, B-1, B2, B1, tourist
I-94, arrival record, entry record, arrival departure record, admit until
case status, receipt number, check my case, track, pending, status online, processing times
biometrics, fingerprints, fingerprint, application support center, ASC, photo and signature,
    biometric services
request for evidence, RFE, notice of intent to deny, NOID, intent to deny, more evidence,
    additional evidence, asked for more documents
fee waiver, I-912, cannot pay the fee, afford the fee, low income, free filing, no money for the fee,
    reduced fee, waive the fee
FOIA, freedom of information, G-639, copy of my file, immigration file, A-file, my records, records
asylum, I-589, asylee, afraid to go back, persecution, persecuted, scared, fear, danger
refugee, I-730, follow to join, resettlement, resettled
special immigrant juvenile, SIJ, SIJS, juvenile court, foster care, abandoned, abandonment, neglected,
    neglect, orphan
TPS, temporary protected status, I-821
DACA, dreamer, deferred action, I-821D, childhood arrivals
VAWA, self-petition, I-360, domestic violence, abuse, abused spouse, battered, violent husband, abusive,
    abuser, hits, beats, hurts me
U visa, U nonimmigrant, I-918, victim of a crime, crime victim, victim, law enforcement certification
trafficking, T visa, I-914, forced labor, human trafficking, forced to work
H-1B, H1B, specialty occupation, cap lottery, I-129, grace period, laid off, fired, lost my job
OPT, optional practical training, STEM OPT, F-1, F1, I-20, I-983, international student, student visa,
    SEVIS, graduate, graduation, DSO
visa bulletin, priority date, final action date, dates for filing, backlog, visa number,
    preference category, waiting line, F2A, F2B, EB-2, EB-3
removal proceedings, deportation, immigration court, notice to appear, NTA, I-862, immigration judge,
    hearing, EOIR, removal, deport, court, judge, master calendar
attorney, lawyer, abogado, legal help, legal aid, accredited representative, accredited rep, pro bono,
    legal advice, DOJ-accredited, legal representative, free lawyer
scam, fraud, scammer, fake, notario, notary, impostor, impersonate, swindle, cheat, phishing,
    suspicious call, gift card, wire money
ICE, immigration and customs enforcement, detained, detention, arrested by immigration
spouse, husband, wife, married, marriage, marry
child, kid, son, daughter, children
parent, mother, father, mom, dad
sibling, brother, sister
relative, family, family member
employer, boss, company
job, work, employment
income, salary, wage, wages, earnings, earn, tax return
passed away, died, death, dead, widow, widower
divorce, divorced, separated, separation
lost, stolen, misplaced, cannot find
expire, expired, expires, runs out, ran out, run out, expiration, no longer valid
renew, renewal, extend
fee, cost, pay, price, how much
denied, denial, refused, rejected, reject, deny
translation, translate, translator, certified translation
reschedule, another date, change the date, change my appointment, postpone
apply, application, file, form, filing, petition
undocumented, no papers, without papers, unlawful presence, out of status, illegal, illegally,
    without permission
country, nation, homeland
document, paper, paperwork, papers
picture, photo, photograph
appointment, interview
letter, notice, mail
`

/** The groups of related search terms. */
export const SYNONYMS: readonly (readonly string[])[] = SYNONYM_GROUPS.trim()
  // Splits at line breaks without indentation after them.
  .split(/\n(?! )/)
  .map((group) => group.split(',').map((term) => term.trim()))
