package fqltest_test

import (
	"testing"

	"earshot/internal/fql/fqltest"
)

// Texts are compared exactly, and as numbers only where they spell one in JSON's way.
func TestMatchAttributes(t *testing.T) {
	t.Parallel()
	judge(t, map[string]judged{
		`[{"Attribute":{"name":"city","$eq":"paris"}}]`:           {false, false},
		`[{"Attribute":{"name":"city","$ne":"Paris"}}]`:           {false, true},
		`[{"Attribute":{"name":"city","$ne":"Rome"}}]`:            {true, true},
		`[{"Attribute":{"name":"city","$in":["Rome","Paris"]}}]`:  {true, false},
		`[{"Attribute":{"name":"city","$nin":["Rome","Paris"]}}]`: {false, true},
		`[{"Attribute":{"name":"city","$like":"ŁÓDŹ 100%"}}]`:     {true, false},
		`[{"Attribute":{"name":"city","$like":"p%s"}}]`:           {false, false},
		`[{"Attribute":{"name":"city","$like":".*"}}]`:            {false, false},
		`[{"Attribute":{"name":"city","$like":[]}}]`:              {false, false},
		`[{"Attribute":{"name":"city","$nlike":[]}}]`:             {true, true},
		`[{"Attribute":{"name":"city","$nlike":"par"}}]`:          {false, true},
		`[{"Attribute":{"name":"city","$gt":0}}]`:                 {false, false},
		`[{"Attribute":{"name":"size","$eq":1.50}}]`:              {true, false},
		`[{"Attribute":{"name":"size","$eq":1.5}}]`:               {false, false},
		`[{"Attribute":{"name":"size","$eq":"1.50"}}]`:            {true, false},
		`[{"Attribute":{"name":"size","$gte":1.5}}]`:              {true, false},
		`[{"Attribute":{"name":"size","$lte":"1.5"}}]`:            {true, false},
		`[{"Attribute":{"name":"size","$lt":15e-1}}]`:             {false, false},
		`[{"Attribute":{"name":"amount","$gt":12}}]`:              {false, false},
		`[{"Attribute":{"name":"amount","$btw":[10,12]}}]`:        {true, false},
		`[{"Attribute":{"name":"amount","$btw":[10,11]}}]`:        {false, false},
		// 007 is not a number in JSON's grammar, and 1e999 is beyond float64.
		`[{"Attribute":{"name":"amount","$lt":9}}]`:      {false, false},
		`[{"Attribute":{"name":"amount","$eq":"007"}}]`:  {true, false},
		`[{"Attribute":{"name":"note","$exists":true}}]`: {true, false},
		`[{"Attribute":{"name":"note","$eq":""}}]`:       {true, false},
		`[{"Attribute":{"name":"gone","$exists":true}}]`: {false, false},
		`[{"Attribute":{"name":"gone","$ne":"x"}}]`:      {true, true},
	})
}

// A question's type decides how its answers compare. Question 16 and 20 were left empty.
func TestMatchQuestions(t *testing.T) {
	t.Parallel()
	judge(t, map[string]judged{
		`[{"Question":{"id":11,"$eq":"9"}}]`:               {true, false},
		`[{"Question":{"id":11,"$eq":9.0}}]`:               {true, false},
		`[{"Question":{"id":11,"$eq":9.5}}]`:               {false, false},
		`[{"Question":{"id":11,"$eq":"nine"}}]`:            {false, false},
		`[{"Question":{"id":11,"$ne":"nine"}}]`:            {true, true},
		`[{"Question":{"id":11,"$ne":9}}]`:                 {false, true},
		`[{"Question":{"id":11,"$gt":8.5}}]`:               {true, false},
		`[{"Question":{"id":11,"$btw":["9",10]}}]`:         {true, false},
		`[{"Question":{"id":11,"$like":"9"}}]`:             {true, false},
		`[{"Question":{"id":12,"$eq":7}}]`:                 {true, false},
		`[{"Question":{"id":12,"$like":".0"}}]`:            {true, false},
		`[{"Question":{"id":12,"$lte":7}}]`:                {true, false},
		`[{"Question":{"id":13,"$eq":"Red"}}]`:             {true, false},
		`[{"Question":{"id":13,"$eq":"red"}}]`:             {false, false},
		`[{"Question":{"id":13,"$nlike":"RE"}}]`:           {false, true},
		`[{"Question":{"id":14,"$in":["Other","x"]}}]`:     {true, false},
		`[{"Question":{"id":14,"$eq":10}}]`:                {true, false},
		`[{"Question":{"id":14,"$eq":10.0}}]`:              {false, false},
		`[{"Question":{"id":14,"$gt":5}}]`:                 {false, false},
		`[{"Question":{"id":15,"$like":"été"}}]`:           {true, false},
		`[{"Question":{"id":16,"$exists":true}}]`:          {false, false},
		`[{"Question":{"id":16,"$eq":""}}]`:                {false, false},
		`[{"Question":{"id":16,"$ne":""}}]`:                {true, true},
		`[{"Question":{"id":17,"$eq":10.50}}]`:             {true, false},
		`[{"Question":{"id":17,"$eq":10.5}}]`:              {false, false},
		`[{"Question":{"id":17,"$gte":10.5,"$lt":10.51}}]`: {true, false},
		`[{"Question":{"id":18,"$eq":"2026-01-31"}}]`:      {true, false},
		`[{"Question":{"id":18,"$gt":0}}]`:                 {false, false},
		`[{"Question":{"id":18,"$like":"2026-01"}}]`:       {true, false},
		`[{"Question":{"id":19,"$in":[2]}}]`:               {true, false},
		`[{"Question":{"id":19,"$nin":[2]}}]`:              {false, true},
		`[{"Question":{"id":19,"$gt":3,"$lt":3}}]`:         {true, false},
		`[{"Question":{"id":20,"$lte":10}}]`:               {false, false},
		`[{"Question":{"id":20,"$exists":false}}]`:         {true, true},
		`[{"Question":{"id":99,"$nin":[1]}}]`:              {true, true},
	})
}

// Text looks into answers of text and textarea questions, and no others.
func TestMatchText(t *testing.T) {
	t.Parallel()
	judge(t, map[string]judged{
		`[{"Text":{"$like":"great"}}]`:                        {true, false},
		`[{"Text":{"$like":["nothing","50% OFF"]}}]`:          {true, false},
		`[{"Text":{"$like":"50_ off"}}]`:                      {false, false},
		`[{"Text":{"$like":"red"}}]`:                          {false, false},
		`[{"Text":{"$nlike":"great"}}]`:                       {false, true},
		`[{"Text":{"$eq":"Great"}}]`:                          {false, false},
		`[{"Text":{"$eq":"Great Service, 50% off. ÉTÉ"}}]`:    {true, false},
		`[{"Text":{"$ne":"Great Service, 50% off. ÉTÉ"}}]`:    {false, true},
		`[{"Text":{"$nin":["Great Service, 50% off. été"]}}]`: {true, true},
		`[{"Text":{"$in":[""]}}]`:                             {false, false},
		`[{"Text":{"$exists":true}}]`:                         {true, false},
		`[{"Text":{"$exists":false}}]`:                        {false, true},
	})
}

// A mistake is an error, whatever the record.
func TestMatchRefuses(t *testing.T) {
	t.Parallel()
	for _, query := range []string{
		``, `null`, `{}`, `[] []`, `[1]`, `[[]]`, `[{}]`, `[[[]]]`, `[{"name":"city"}]`,
		`[{"Colour":{"$eq":1}}]`, `[{"Id":{}}]`, `[{"Id":{"$type":"or"}}]`, `[{"Id":5}]`, `[{"Id":{"eq":5}}]`,
		`[{"Id":{"$eq":5,"$type":"xor"}}]`, `[{"Id":{"$eq":null}}]`, `[{"Id":{"$eq":1.5}}]`, `[{"Id":{"$eq":"x"}}]`,
		`[{"Id":{"$like":"1"}}]`, `[{"Id":{"$gt":[1]}}]`, `[{"Id":{"$btw":[1]}}]`, `[{"Id":{"$exists":1}}]`,
		`[{"Attribute":{"$eq":"x"}}]`, `[{"Question":{"$eq":"x"}}]`, `[{"Question":{"id":"x","$eq":"x"}}]`,
		`[{"Attribute":{"name":"a","$gt":"x"}}]`, `[{"Attribute":{"name":"a","$like":""}}]`,
		`[{"attribute_values":{"value":{"$eq":"x"}}}]`, `[{"attribute_values":{"attribute":{"name":{"$eq":"a"}}}}]`,
		`[{"Topic":{"id":{"$gt":1}}}]`, `[{"Topic":{"id":{"$eq":1},"$eq":"x"}}]`,
		`[{"Nps":{"$eq":"happy"}}]`, `[{"Satisfaction":{"$eq":101}}]`, `[{"Sentiment":{"$gt":"positive"}}]`,
		`[{"TimePeriod":{"$ne":"today"}}]`, `[{"TimePeriod":{"$eq":"someday"}}]`, `[{"TimePeriod":{"$eq":"2026-02-30"}}]`,
		`[{"TimePeriod":{"$gt":"2026-02-03T10:00:00"}}]`,
	} {
		if _, err := fqltest.Match(query, full, now, berlin); err == nil {
			t.Errorf("%s: taken", query)
		}
		if got := fqltest.Coverage(query); got != nil {
			t.Errorf("%s: covers %v", query, got)
		}
	}
}
