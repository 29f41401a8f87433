/* R-LIN: every request that begins after a revocation was confirmed is subject to it,
   although every API process caches introspections.

   One token, N API processes, two revokers of it, a channel that may lose notices and connections, leases that may run
   out, late introspection answers, look-ups that are shared, and a store that may lose its list of members at any moment.

   Build with -D and one of the names below to take one safeguard away: each must fail.
     NO_LEASE            cached introspections are used without a lease
     NO_GENERATION       a result is cached although a notification arrived meanwhile
     NO_WAIT             a revoker responds without waiting
     JOIN_ANY            an introspection begun before a notification is shared after it
     JOIN_WITHOUT_LEASE  introspections in flight are shared without a lease
     NO_ATOMIC_GRANT     a new subscription keeps introspections from before it
     NO_BIRTH_MARK       a revoker trusts a list that the store may have just lost
     RENEW_ANYWAY        a lease is renewed although the store has a higher number
     SECOND_AT_ONCE      revoking a token that is already deleted is confirmed without waiting
     NO_TOKEN_LIFE       an older copy of the store brings tokens back

   spin -a revocation.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan -m100000                                     */
#ifndef N
#define N 1               /* processes do not meet but in the wait; -DN=2 is a longer search */
#endif
#ifndef K
#define K 1               /* requests per process, beside the one of Straggler; -DK=2 is a longer search */
#endif
#define R 2               /* revokers */

bool alive = true;        /* the token in the store */
bool answered = false;    /* a revocation was answered 200 */
byte over = 0;            /* revokers that have answered */

/* the store */
byte mark = 1;            /* of its present life */
bool born = true;         /* a revoker has begun this life */
byte number = 0;
bool listed[N];           /* member i stands in the list … */
byte acknowledged[N];     /* … and has acknowledged this number */

/* member i */
bool conn[N];             /* hears notices */
byte inbox[N];            /* highest notice on its way, 0 = none; several may come as one */
byte inboxMark[N];
byte memberMark[N];
byte seen[N];             /* number processed */
bool believes[N];         /* its own clock says that its lease is valid */
bool waiting[N];          /* the answer to a join or a renewal is on its way */
bool cached[N];           /* 'active' for the token */

byte flight[N];           /* 0 none, 1 asked, 2 answer on its way */
bool flightActive[N];
bool flightDropped[N];    /* a notice, or a join, came since it began */

/* Time: a full lease after a revoker raised the number, a belief from before then is over, unless it was granted anew. */
bool fromBefore[R * N];
byte knownFor[R];         /* the mark that revoker r has known for a lease and the margin */
#define AFTER_A_LEASE(r, i) (!fromBefore[(r) * N + (i)] || (!believes[i] && !waiting[i]))

byte each;                /* only in atomic steps */
#define GRANTED_ANEW(i) each = 0; do :: each < R -> fromBefore[each * N + i] = false; each++ :: else -> break od; each = 0

#ifdef RENEW_ANYWAY
#define UP_TO_DATE(i) true
#else
#define UP_TO_DATE(i) (seen[i] == number)
#endif

/* A look-up that was dropped still answers the requests that began it or shared it: they began before. */
#define LAND(i) flight[i] = 0; flightActive[i] = false

#ifdef JOIN_ANY
#define FORGET(i) cached[i] = false; flightDropped[i] = (flight[i] > 0)
#else
#define FORGET(i) cached[i] = false; LAND(i)
#endif

/* what happens to the connection and the lease of i */
proctype Follow(byte i) {
  byte breaks = 0, late = 0, gotMark, gotNumber;          /* each fault once per process keeps the search finite */
  do
  :: conn[i] && inbox[i] > 0 ->                           /* a notice arrives: forget, then acknowledge */
     atomic {
       if
       :: inboxMark[i] == memberMark[i] && inbox[i] > seen[i] -> seen[i] = inbox[i]; FORGET(i)
       :: inboxMark[i] != memberMark[i] -> believes[i] = false
       :: else
       fi;
       inbox[i] = 0; inboxMark[i] = 0
     };
     if
     :: atomic { (listed[i] && memberMark[i] == mark && seen[i] > acknowledged[i]) -> acknowledged[i] = seen[i] }
     :: else
     fi
  :: conn[i] && breaks < 1 -> atomic { breaks++; conn[i] = false; inbox[i] = 0; inboxMark[i] = 0 }
  :: !conn[i] && believes[i] -> believes[i] = false       /* no connection, no belief */
  :: !conn[i] && !believes[i] -> conn[i] = true
  :: conn[i] && believes[i] && late < 1 -> late++; believes[i] = false                /* a renewal is late */
  :: believes[i] && (!listed[i] || memberMark[i] != mark) -> believes[i] = false      /* refused, or run out */
  :: believes[i] && seen[i] < number && memberMark[i] == mark -> believes[i] = false  /* not prolonged */
  :: atomic { (conn[i] && listed[i] && memberMark[i] == mark && UP_TO_DATE(i)) ->     /* renewed, perhaps late */
       waiting[i] = true; GRANTED_ANEW(i) };
     atomic { waiting[i] = false; believes[i] = conn[i] }
  :: atomic { (conn[i] && !believes[i] && born) ->          /* a join: one step in the store … */
       listed[i] = true; acknowledged[i] = number; gotMark = mark; gotNumber = number;
       waiting[i] = true; GRANTED_ANEW(i) };
     atomic {                                             /* … on its answer forget all, then trust */
       waiting[i] = false; memberMark[i] = gotMark; seen[i] = gotNumber;
#ifndef NO_ATOMIC_GRANT
       FORGET(i);
#endif
       believes[i] = conn[i]; gotMark = 0; gotNumber = 0
     }
  :: over == R && inbox[i] == 0 && conn[i] && believes[i] -> break
  :: over == R && inbox[i] == 0 && conn[i] && !born -> break
  od
}

#ifdef NO_GENERATION
#define MAY_KEEP(i) true
#else
#define MAY_KEEP(i) (!flightDropped[i] && believes[i])
#endif
#ifdef NO_LEASE
#define MAY_USE(i) true
#else
#define MAY_USE(i) believes[i]
#endif
#ifdef JOIN_WITHOUT_LEASE
#define MAY_SHARE(i) true
#else
#define MAY_SHARE(i) believes[i]
#endif

/* the answer of a look-up has arrived: keep it, if that is allowed, and let nobody share it any more */
inline land(i) {
  if
  :: flightActive[i] && MAY_KEEP(i) -> cached[i] = true
  :: else
  fi;
  LAND(i); flightDropped[i] = false
}

/* requests with the token at process i, one after the other; what a process decides in one turn is one step */
proctype Requests(byte i) {
  bool after, let_in, begins, alone;
  byte k = 0;
  do
  :: atomic { k < K ->
       k++;
       after = answered;                                  /* did this request begin after the 200? */
       if
       :: MAY_USE(i) && cached[i] -> let_in = true
       :: else ->
          if
          :: MAY_SHARE(i) && flight[i] == 0 -> flight[i] = 1; flightDropped[i] = false; begins = true
          :: MAY_SHARE(i) && flight[i] == 2 -> let_in = flightActive[i]               /* whatever comes */
          :: else -> alone = true                         /* keep nothing, share nothing */
          fi
       fi
     };
     if
     :: begins ->
        atomic {                                          /* the store is asked … */
          let_in = alive;
          if :: flight[i] == 1 -> flightActive[i] = alive; flight[i] = 2 :: else fi
        };
        atomic {                                          /* … and has answered */
          if
          :: flight[i] == 2 -> land(i)
#ifdef NO_GENERATION
          :: flight[i] != 2 && let_in -> cached[i] = true
#endif
          :: else
          fi
        }
     :: alone -> let_in = alive
     :: else
     fi;
     atomic { assert(!(after && let_in)); after = false; let_in = false; begins = false; alone = false }
  :: k == K -> break
  od
}

/* a look-up that another request began, so that later ones find it */
proctype Straggler(byte i) {
  bool found;
  if
  :: atomic { (flight[i] == 0 && believes[i]) ->
       flightDropped[i] = false; found = alive; flightActive[i] = found; flight[i] = 2 };
     if
     :: atomic { (flight[i] == 2) -> land(i) }
#ifdef NO_GENERATION
     :: atomic { (flight[i] != 2 && found) -> cached[i] = true }
#endif
     :: flight[i] != 2
     fi
  :: true
  fi
}

proctype Revoke(byte r) {
  byte i, mine, mineMark;
#ifdef SECOND_AT_ONCE
  if
  :: !alive -> answered = true; goto done
  :: else
  fi;
#endif
  alive = false;
  atomic {                                                /* raise and publish are one step */
    born = true; number++; mine = number; mineMark = mark;
    i = 0;
    do
    :: i < N ->
       fromBefore[r * N + i] = believes[i] || waiting[i];
       if :: conn[i] -> inbox[i] = number; inboxMark[i] = mark :: else fi;
       i++
    :: else -> break
    od
  };
#ifndef NO_WAIT
  i = 0;
  do
  :: i < N ->
     if
#ifdef NO_BIRTH_MARK
     :: mark == mineMark && (!listed[i] || acknowledged[i] >= mine)
#else
     :: knownFor[r] == mineMark && mark == mineMark && (!listed[i] || acknowledged[i] >= mine)
#endif
     :: atomic { (AFTER_A_LEASE(r, i)) ->                    /* a full lease has passed: strike it off */
          if
          :: mark == mineMark && listed[i] && acknowledged[i] < mine -> listed[i] = false
          :: else
          fi }
     fi;
     i++
  :: else -> break
  od;
#endif
  answered = true;
done:
  over++
}

/* flushed, restarted, or replaced by an older copy, in which no mark and no token of the last life counts */
proctype Lose() {
  byte i;
  if
  :: atomic {
       mark++; born = false; number = 0;
       i = 0;
       do :: i < N -> listed[i] = false; acknowledged[i] = 0; i++ :: else -> break od;
       if
       :: skip                                            /* the list alone */
#ifdef NO_TOKEN_LIFE
       :: alive = true
#else
       :: alive = false
#endif
       fi
     }
  :: true
  fi
}

init {
  byte i = 0;
  atomic {
    knownFor[0] = 1;                                      /* revoker 0 has run for long, revoker 1 has just started */
    do
    :: i < N -> conn[i] = true; listed[i] = true; believes[i] = true; memberMark[i] = 1; i++
    :: else -> break
    od;
    i = 0;
    do :: i < N -> run Follow(i); run Requests(i); run Straggler(i); i++ :: else -> break od;
    run Revoke(0); run Revoke(1); run Lose()
  }
}
