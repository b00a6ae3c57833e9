/// Exact swept queries. Coordinates become whole numbers (times one power of two), everything is a polynomial in t with whole
/// coefficients, and a time of contact is a root of one, kept as an interval that isolates it (Sturm's theorem).
///
/// The features meet at time t exactly if the figure of geom/swept_motion.h holds the origin: if the vertices are coplanar (f =
/// 0) and, where the figure has an area (n != 0), all barycentric polynomials are >= 0; where it is a line, one of its sides
/// holds the origin. If f is not zero for all t, the times to look at are its roots. If it is, contact is either there at t = 0
/// or begins on a side of the figure, since the set of contacts is closed.
#include "swept_oracle.h"

#ifndef CAROM_HAVE_GMP
bool swept_oracle_exists(void) { return false; }

bool swept_oracle_meets(cr_swept_kind kind, const double begin[4][3], const double end[4][3], double time, bool *time_holds)
{
	(void)kind, (void)begin, (void)end, (void)time;
	*time_holds = false;
	return false;
}
#else
#include <gmp.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_DEGREE = 8 };

typedef struct poly {
	int degree; // -1: zero
	mpz_t c[MAX_DEGREE + 1];
} poly;

static void poly_init(poly *p)
{
	p->degree = -1;
	for (int i = 0; i <= MAX_DEGREE; i++)
		mpz_init(p->c[i]);
}

static void poly_clear(poly *p)
{
	for (int i = 0; i <= MAX_DEGREE; i++)
		mpz_clear(p->c[i]);
}

static void poly_trim(poly *p, int degree)
{
	while (degree >= 0 && mpz_sgn(p->c[degree]) == 0)
		degree--;
	p->degree = degree;
}

static void poly_set(poly *r, const poly *a)
{
	for (int i = 0; i <= MAX_DEGREE; i++)
		mpz_set(r->c[i], a->c[i]);
	r->degree = a->degree;
}

/// r += sign * a * b
static void poly_add_product(poly *r, const poly *a, const poly *b, int sign)
{
	for (int i = 0; i <= a->degree; i++) {
		for (int j = 0; j <= b->degree; j++) {
			if (sign > 0)
				mpz_addmul(r->c[i + j], a->c[i], b->c[j]);
			else
				mpz_submul(r->c[i + j], a->c[i], b->c[j]);
		}
	}
	poly_trim(r, MAX_DEGREE);
}

static void poly_add(poly *r, const poly *a, int sign)
{
	for (int i = 0; i <= a->degree; i++) {
		if (sign > 0)
			mpz_add(r->c[i], r->c[i], a->c[i]);
		else
			mpz_sub(r->c[i], r->c[i], a->c[i]);
	}
	poly_trim(r, MAX_DEGREE);
}

/// Divide by the greatest common divisor of the coefficients.
static void poly_reduce(poly *p)
{
	mpz_t g;
	mpz_init(g);
	for (int i = 0; i <= p->degree; i++)
		mpz_gcd(g, g, p->c[i]);
	for (int i = 0; i <= p->degree && mpz_sgn(g) > 0; i++)
		mpz_divexact(p->c[i], p->c[i], g);
	mpz_clear(g);
}

/// a := remainder of a by b times a positive number.
static void poly_remainder(poly *a, const poly *b)
{
	mpz_t lead, square;
	mpz_inits(lead, square, NULL);
	mpz_mul(square, b->c[b->degree], b->c[b->degree]);
	while (a->degree >= b->degree) {
		const int shift = a->degree - b->degree;
		// Times lead(b)^2 > 0, so that the sign stays.
		mpz_mul(lead, a->c[a->degree], b->c[b->degree]);
		for (int i = 0; i <= a->degree; i++)
			mpz_mul(a->c[i], a->c[i], square);
		for (int i = 0; i <= b->degree; i++)
			mpz_submul(a->c[i + shift], lead, b->c[i]);
		poly_trim(a, a->degree);
	}
	poly_reduce(a);
	mpz_clears(lead, square, NULL);
}

/// g := greatest common divisor of g and a, up to a factor.
static void poly_gcd(poly *g, const poly *a)
{
	poly b;
	poly_init(&b);
	poly_set(&b, a);
	poly_reduce(g);
	poly_reduce(&b);
	while (b.degree >= 0) {
		poly t = *g; // swap: the numbers change their owner
		*g = b;
		b = t;
		if (g->degree >= 0)
			poly_remainder(&b, g);
	}
	poly_clear(&b);
}

static void poly_derive(poly *r, const poly *a)
{
	for (int i = 0; i <= MAX_DEGREE; i++)
		mpz_set_ui(r->c[i], 0);
	for (int i = 1; i <= a->degree; i++)
		mpz_mul_si(r->c[i - 1], a->c[i], i);
	poly_trim(r, MAX_DEGREE);
}

/// a := a / b, which leaves no remainder, up to a factor.
static void poly_divide(poly *a, const poly *b)
{
	poly q;
	poly_init(&q);
	while (a->degree >= b->degree) {
		const int shift = a->degree - b->degree;
		mpz_t lead;
		mpz_init_set(lead, a->c[a->degree]);
		for (int i = 0; i <= MAX_DEGREE; i++) {
			mpz_mul(a->c[i], a->c[i], b->c[b->degree]);
			mpz_mul(q.c[i], q.c[i], b->c[b->degree]);
		}
		mpz_add(q.c[shift], q.c[shift], lead);
		for (int i = 0; i <= b->degree; i++)
			mpz_submul(a->c[i + shift], lead, b->c[i]);
		poly_trim(a, a->degree);
		mpz_clear(lead);
	}
	poly_trim(&q, MAX_DEGREE);
	poly_reduce(&q);
	poly_set(a, &q);
	poly_clear(&q);
}

/// Sign at place / 2^bits.
static int poly_sign(const poly *p, const mpz_t place, unsigned bits)
{
	mpz_t sum, scaled;
	mpz_inits(sum, scaled, NULL);
	for (int i = p->degree; i >= 0; i--) {
		mpz_mul(sum, sum, place);
		mpz_mul_2exp(scaled, p->c[i], (unsigned long)bits * (unsigned long)(p->degree - i));
		mpz_add(sum, sum, scaled);
	}
	const int sign = mpz_sgn(sum);
	mpz_clears(sum, scaled, NULL);
	return sign;
}

typedef struct chain {
	int count;
	poly p[MAX_DEGREE + 2];
} chain;

static void chain_make(chain *s, const poly *p)
{
	for (int i = 0; i < MAX_DEGREE + 2; i++)
		poly_init(&s->p[i]);
	s->count = 0;
	if (p->degree < 0)
		return;
	poly_set(&s->p[0], p);
	poly_derive(&s->p[1], p);
	poly_reduce(&s->p[1]);
	s->count = 1;
	while (s->p[s->count].degree >= 0) {
		poly *next = &s->p[s->count + 1];
		poly_set(next, &s->p[s->count - 1]);
		poly_remainder(next, &s->p[s->count]);
		for (int i = 0; i <= next->degree; i++)
			mpz_neg(next->c[i], next->c[i]);
		s->count++;
	}
}

static void chain_clear(chain *s)
{
	for (int i = 0; i < MAX_DEGREE + 2; i++)
		poly_clear(&s->p[i]);
}

static int chain_variations(const chain *s, const mpz_t place, unsigned bits)
{
	int variations = 0, last = 0;
	for (int i = 0; i < s->count; i++) {
		const int sign = poly_sign(&s->p[i], place, bits);
		variations += sign != 0 && last != 0 && sign != last;
		last = sign != 0 ? sign : last;
	}
	return variations;
}

/// Roots in (low, low + 1] / 2^bits.
static int chain_count(const chain *s, const mpz_t low, unsigned bits)
{
	mpz_t high;
	mpz_init(high);
	mpz_add_ui(high, low, 1);
	const int count = chain_variations(s, low, bits) - chain_variations(s, high, bits);
	mpz_clear(high);
	return count;
}

/// A time: low / 2^bits if exact, else the only root of poly within (low, low + 1) / 2^bits.
typedef struct moment {
	poly p; // without multiple roots
	mpz_t low;
	unsigned bits;
	bool exact;
} moment;

static void moment_refine(moment *m)
{
	mpz_t middle;
	mpz_init(middle);
	mpz_mul_2exp(middle, m->low, 1);
	mpz_mul_2exp(m->low, m->low, 1);
	m->bits++;
	if (!m->exact) {
		mpz_t high;
		mpz_init(high);
		mpz_add_ui(middle, middle, 1);
		mpz_add_ui(high, middle, 1);
		const int at = poly_sign(&m->p, middle, m->bits);
		m->exact = at == 0;
		if (at == 0 || at == -poly_sign(&m->p, high, m->bits))
			mpz_set(m->low, middle);
		mpz_clear(high);
	}
	mpz_clear(middle);
}

/// simple := p without multiple roots.
static void make_simple(poly *simple, const poly *p)
{
	poly g;
	poly_init(&g);
	poly_derive(&g, p);
	poly_gcd(&g, p);
	poly_set(simple, p);
	if (g.degree > 0)
		poly_divide(simple, &g);
	poly_clear(&g);
}

static int sign_at(const poly *q, moment *m)
{
	if (q->degree < 0)
		return 0;
	if (m->exact)
		return poly_sign(q, m->low, m->bits);
	poly g;
	mpz_t high;
	poly_init(&g);
	mpz_init(high);
	poly_set(&g, &m->p);
	poly_gcd(&g, q);
	mpz_add_ui(high, m->low, 1);
	const bool shared = g.degree > 0 && poly_sign(&g, m->low, m->bits) != poly_sign(&g, high, m->bits);
	poly_clear(&g);
	int sign = 0;
	if (!shared) {
		chain s;
		poly simple; // Sturm's theorem fails where an end of the interval is a multiple root
		poly_init(&simple);
		make_simple(&simple, q);
		chain_make(&s, &simple);
		poly_clear(&simple);
		while (!m->exact && chain_count(&s, m->low, m->bits) > 0)
			moment_refine(m);
		mpz_add_ui(high, m->low, m->exact ? 0 : 1);
		sign = poly_sign(q, high, m->bits);
		chain_clear(&s);
	}
	mpz_clear(high);
	return sign;
}

/// All roots of p in (low, low + 1] / 2^bits, ascending.
static int isolate(const poly *p, const chain *s, const mpz_t low, unsigned bits, moment *roots)
{
	const int count = chain_count(s, low, bits);
	if (count == 0)
		return 0;
	mpz_t place;
	mpz_init(place);
	mpz_add_ui(place, low, 1);
	const bool at_end = poly_sign(p, place, bits) == 0;
	int found = 0;
	if (count == 1 && (at_end || poly_sign(p, low, bits) != 0)) {
		moment *m = &roots[found++];
		poly_init(&m->p);
		poly_set(&m->p, p);
		mpz_init_set(m->low, at_end ? place : low);
		m->bits = bits;
		m->exact = at_end;
	} else {
		mpz_mul_2exp(place, low, 1);
		found += isolate(p, s, place, bits + 1, roots);
		mpz_add_ui(place, place, 1);
		found += isolate(p, s, place, bits + 1, roots + found);
	}
	mpz_clear(place);
	return found;
}

static int roots_of(const poly *p, moment *roots)
{
	if (p->degree < 1)
		return 0;
	poly simple;
	chain s;
	mpz_t zero;
	poly_init(&simple);
	mpz_init(zero);
	make_simple(&simple, p);
	chain_make(&s, &simple);
	const int count = isolate(&simple, &s, zero, 0, roots);
	chain_clear(&s);
	poly_clear(&simple);
	mpz_clear(zero);
	return count;
}

// ---- The query ----

enum { MAX_SIDES = 4, MAX_MOMENTS = 32 };

/// A side of the figure holds the origin if p x q = 0 and p . q <= 0, p and q its ends.
typedef struct exact_side {
	poly cross[3];
	poly dot;
} exact_side;

typedef struct exact_query {
	poly f;
	poly n[3];
	poly inside[4];
	int inside_count;
	exact_side side[MAX_SIDES];
	int side_count;
	poly corner[4][3];
} exact_query;

static void each_poly(exact_query *q, void (*act)(poly *))
{
	act(&q->f);
	for (int k = 0; k < 3; k++)
		act(&q->n[k]);
	for (int i = 0; i < 4; i++) {
		act(&q->inside[i]);
		act(&q->side[i].dot);
		for (int k = 0; k < 3; k++) {
			act(&q->side[i].cross[k]);
			act(&q->corner[i][k]);
		}
	}
}

/// r = a x b, r zero before.
static void exact_cross(poly r[3], const poly a[3], const poly b[3])
{
	for (int k = 0; k < 3; k++) {
		poly_add_product(&r[k], &a[(k + 1) % 3], &b[(k + 2) % 3], 1);
		poly_add_product(&r[k], &a[(k + 2) % 3], &b[(k + 1) % 3], -1);
	}
}

static void exact_dot(poly *r, const poly a[3], const poly b[3])
{
	for (int k = 0; k < 3; k++)
		poly_add_product(r, &a[k], &b[k], 1);
}

/// Corners of the figure as whole polynomials.
static void set_corners(exact_query *q, cr_swept_kind kind, const double begin[4][3], const double end[4][3])
{
	int least = 10000;
	for (int i = 0; i < 24; i++) {
		const double x = i < 12 ? begin[i / 3][i % 3] : end[i / 3 - 4][i % 3];
		int exponent;
		if (x != 0 && (frexp(x, &exponent), exponent - 53 < least))
			least = exponent - 53;
	}
	mpz_t whole[2][4][3];
	for (int i = 0; i < 24; i++) {
		mpz_t *target = &whole[i / 12][i % 12 / 3][i % 3];
		int exponent;
		const double mantissa = frexp(i < 12 ? begin[i / 3][i % 3] : end[i / 3 - 4][i % 3], &exponent);
		mpz_init_set_d(*target, ldexp(mantissa, 53));
		if (mantissa != 0)
			mpz_mul_2exp(*target, *target, (unsigned long)(exponent - 53 - least));
	}
	const bool edges = kind == CR_SWEPT_EDGE_EDGE;
	for (int i = 0; i < (edges ? 4 : 3); i++) {
		const int first = edges ? i & 1 : 0, second = edges ? 2 + (i >> 1) : 1 + i;
		for (int k = 0; k < 3; k++) {
			poly *p = &q->corner[i][k];
			mpz_sub(p->c[0], whole[0][first][k], whole[0][second][k]);
			mpz_sub(p->c[1], whole[1][first][k], whole[1][second][k]);
			mpz_sub(p->c[1], p->c[1], p->c[0]);
			poly_trim(p, 1);
		}
	}
	for (int i = 0; i < 24; i++)
		mpz_clear(whole[i / 12][i % 12 / 3][i % 3]);
}

static void set_query(exact_query *q, cr_swept_kind kind, const double begin[4][3], const double end[4][3])
{
	each_poly(q, poly_init);
	set_corners(q, kind, begin, end);
	// Sides a and b from corner 0, the point c = corner 0: the origin is c + s a + r b.
	poly a[3], b[3], t[3], nn;
	poly_init(&nn);
	for (int k = 0; k < 3; k++) {
		poly_init(&a[k]);
		poly_init(&b[k]);
		poly_init(&t[k]);
		poly_add(&a[k], &q->corner[1][k], 1);
		poly_add(&a[k], &q->corner[0][k], -1);
		poly_add(&b[k], &q->corner[2][k], 1);
		poly_add(&b[k], &q->corner[0][k], -1);
	}
	exact_cross(q->n, a, b);
	exact_dot(&q->f, q->n, q->corner[0]);
	exact_dot(&nn, q->n, q->n);
	// s nn = (b x c) . n and r nn = (c x a) . n
	exact_cross(t, b, q->corner[0]);
	exact_dot(&q->inside[0], t, q->n);
	for (int k = 0; k < 3; k++)
		poly_clear(&t[k]), poly_init(&t[k]);
	exact_cross(t, q->corner[0], a);
	exact_dot(&q->inside[1], t, q->n);
	poly_add(&q->inside[2], &nn, 1);
	poly_add(&q->inside[2], &q->inside[0], -1);
	if (kind == CR_SWEPT_VERTEX_FACE) {
		poly_add(&q->inside[2], &q->inside[1], -1);
		q->inside_count = 3;
	} else {
		poly_add(&q->inside[3], &nn, 1);
		poly_add(&q->inside[3], &q->inside[1], -1);
		q->inside_count = 4;
	}
	static const int ends[2][MAX_SIDES][2] = { { { 0, 1 }, { 0, 2 }, { 1, 2 } }, { { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 } } };
	q->side_count = kind == CR_SWEPT_VERTEX_FACE ? 3 : 4;
	for (int i = 0; i < q->side_count; i++) {
		const int *at = ends[kind == CR_SWEPT_EDGE_EDGE][i];
		exact_cross(q->side[i].cross, q->corner[at[0]], q->corner[at[1]]);
		exact_dot(&q->side[i].dot, q->corner[at[0]], q->corner[at[1]]);
	}
	for (int k = 0; k < 3; k++) {
		poly_clear(&a[k]);
		poly_clear(&b[k]);
		poly_clear(&t[k]);
	}
	poly_clear(&nn);
}

static bool meets_at(const exact_query *q, moment *m)
{
	if (sign_at(&q->f, m) != 0)
		return false;
	if (sign_at(&q->n[0], m) != 0 || sign_at(&q->n[1], m) != 0 || sign_at(&q->n[2], m) != 0) {
		for (int i = 0; i < q->inside_count; i++) {
			if (sign_at(&q->inside[i], m) < 0)
				return false;
		}
		return true;
	}
	// A line: it is the union of its sides.
	for (int i = 0; i < q->side_count; i++) {
		const exact_side *side = &q->side[i];
		if (sign_at(&side->cross[0], m) == 0 && sign_at(&side->cross[1], m) == 0 && sign_at(&side->cross[2], m) == 0 &&
			sign_at(&side->dot, m) <= 0)
			return true;
	}
	return false;
}

/// Times in (0, 1] at which a side may begin to hold the origin.
static int side_moments(const exact_side *side, moment *moments)
{
	poly g;
	poly_init(&g);
	for (int k = 0; k < 3; k++)
		poly_gcd(&g, &side->cross[k]);
	const int count = roots_of(g.degree < 0 ? &side->dot : &g, moments);
	poly_clear(&g);
	return count;
}

/// Whether time <= moment, up to 2^-100.
static bool is_not_after(double time, moment *m)
{
	while (m->bits < 100)
		moment_refine(m);
	int exponent;
	mpz_t at, high;
	mpz_init_set_d(at, ldexp(frexp(time, &exponent), 53));
	mpz_init(high);
	mpz_add_ui(high, m->low, m->exact ? 0 : 1);
	// time = at 2^(exponent - 53) against high 2^-bits.
	const long shift = (long)exponent - 53 + (long)m->bits;
	if (shift >= 0)
		mpz_mul_2exp(at, at, (unsigned long)shift);
	else
		mpz_mul_2exp(high, high, (unsigned long)-shift);
	const bool holds = mpz_cmp(at, high) <= 0;
	mpz_clears(at, high, NULL);
	return holds;
}

bool swept_oracle_exists(void) { return true; }

bool swept_oracle_meets(cr_swept_kind kind, const double begin[4][3], const double end[4][3], double time, bool *time_holds)
{
	exact_query q;
	moment moments[MAX_MOMENTS];
	set_query(&q, kind, begin, end);
	poly_init(&moments[0].p);
	mpz_init(moments[0].low);
	moments[0].bits = 0;
	moments[0].exact = true;
	int count = 1;
	if (q.f.degree >= 0) {
		count += roots_of(&q.f, moments + count);
	} else {
		for (int i = 0; i < q.side_count; i++)
			count += side_moments(&q.side[i], moments + count);
	}
	bool meets = false;
	*time_holds = true;
	for (int i = 0; i < count; i++) {
		if (meets_at(&q, &moments[i])) {
			meets = true;
			*time_holds = *time_holds && is_not_after(time, &moments[i]);
		}
		poly_clear(&moments[i].p);
		mpz_clear(moments[i].low);
	}
	each_poly(&q, poly_clear);
	return meets;
}
#endif
